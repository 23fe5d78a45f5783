// What the official schemas leave open and the specification does not: members that a revision does
// not define. A schema walks along with the value; the rule, in order:
//
// 1. A member that the definition has not, but that the same definition has in another revision, is
//    an error, whoever said it first. So is a key of `_meta` under the specification's own prefix, and
//    an error code, that only other revisions define.
// 2. A member that no revision defines is an error when mcpx made it up: when no peer has sent a
//    member of that name. What peers send beyond the specification passes through mcpx by design, and
//    so do content blocks and codes that no revision knows.
// 3. Open is what the specification leaves open: `_meta` (but for its own prefix), JSON Schemas,
//    `arguments`, `structuredContent`, `data` and other values without a type, maps (`experimental`,
//    `extensions`, metadata), and `capabilities.extensions` in every revision, as extensions are
//    negotiated apart from revisions (SEP-2133).
// 4. Methods that no revision defines are those of extensions, when a peer sent them: of such a result
//    the members that every result has are looked at, the others are the extension's.
// 5. Every message may have `params._meta` and every result `_meta`, as the bases of all of them say,
//    though the generated schemas of older revisions repeat it only here and there.

const OWN_PREFIX = /^(?:[a-z0-9-]+\.)?(?:modelcontextprotocol|mcp)(?:\.[a-z0-9.-]+)?\//i;
const SCHEMA_MEMBERS = new Set(['inputSchema', 'outputSchema', 'requestedSchema']);
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

// Every member name anywhere in a value, for rule 2.
export function namesIn(value, into = new Set()) {
  if (Array.isArray(value)) value.forEach((v) => namesIn(v, into));
  else if (isObject(value)) {
    for (const [key, member] of Object.entries(value)) {
      into.add(key);
      if (['type', 'method'].includes(key) && typeof member === 'string') into.add(`${key}:${member}`);
      if (key === 'code' && Number.isInteger(member)) into.add(`code:${member}`);
      namesIn(member, into);
    }
  }
  return into;
}

export class Strict {
  // `revisions`: name -> {definitions, fits(definition, value)}.
  constructor(revisions) {
    this.revisions = revisions;
    this.known = new Map();      // "Definition.member" -> revisions that have it
    this.blockTypes = new Set(); // of content
    this.metaKeys = new Map();   // own keys of _meta -> revisions that have them
    for (const [revision, { definitions }] of revisions) {
      for (const [name, body] of Object.entries(definitions)) this.#note(revision, name, body);
    }
    this.metaKeys.set('io.modelcontextprotocol/related-task', new Set(['2025-11-25']));
  }

  #note(revision, name, body) {
    const add = (map, key) => map.set(key, (map.get(key) ?? new Set()).add(revision));
    for (const [member, schema] of Object.entries(body.properties ?? {})) {
      add(this.known, `${name}.${member}`);
      if (OWN_PREFIX.test(member)) add(this.metaKeys, member);
      if (member === 'type' && schema.const && /(Content|Link|Resource)$/.test(name)) {
        this.blockTypes.add(schema.const);
      }
      // Objects written out in place are named by where they stand, as later revisions do.
      if (schema.properties) this.#note(revision, inner(name, member), schema);
    }
  }

  // Problems of `value` as `definition` of `revision`; `sent` are the names that peers have sent.
  problems(revision, definition, value, sent) {
    const walk = new Walk(this, revision, sent);
    walk.named(definition, value, definition);
    return walk.found;
  }
}

const inner = (owner, member) => (member === 'params' ? `${owner}Params` : `${owner}.${member}`);

class Walk {
  constructor(strict, revision, sent) {
    const { definitions } = this.schema = strict.revisions.get(revision);
    Object.assign(this, { strict, revision, sent, definitions, found: [] });
  }

  named(name, value, where) {
    const body = this.definitions[name];
    if (body) this.node(body, value, where, name);
  }

  node(schema, value, where, owner) {
    if (schema === true || !isObject(schema)) return;
    if (schema.$ref) return this.named(schema.$ref.split('/').pop(), value, where);
    for (const part of schema.allOf ?? []) this.node(part, value, where, owner);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return this.choice(choices, value, where, owner);
    if (Array.isArray(value) && schema.items) {
      value.forEach((item, at) => this.node(schema.items, item, `${where}[${at}]`, owner));
    } else if (isObject(value)) {
      this.object(schema, value, where, owner);
    }
  }

  // The branch that is meant: the one whose constants agree, and of several the one that finds least.
  choice(choices, value, where, owner) {
    let best;
    for (const choice of choices) {
      const body = choice.$ref ? this.definitions[choice.$ref.split('/').pop()] : choice;
      const constants = Object.entries(body?.properties ?? {}).filter(([, s]) => s.const !== undefined);
      if (!isObject(value) || constants.some(([key, s]) => value[key] !== s.const)) {
        if (constants.length || !Array.isArray(value)) continue;
      }
      const walk = new Walk(this.strict, this.revision, this.sent);
      walk.node(choice, value, where, owner);
      if (choice.$ref && !this.schema.fits(choice.$ref.split('/').pop(), value)) walk.unfit = true;
      const better = !best || (best.unfit && !walk.unfit)
        || (best.unfit === walk.unfit && walk.found.length < best.found.length);
      if (better) best = walk;
    }
    if (best) this.found.push(...best.found);
  }

  object(schema, value, where, owner) {
    const { properties, additionalProperties } = schema;
    const closed = properties && (Object.keys(properties).length > 0 || owner === 'Result');
    for (const [key, member] of Object.entries(value)) {
      const at = `${where}.${key}`;
      if (key === '_meta') this.meta(member, at, owner);
      else if (properties && key in properties) {
        if (!SCHEMA_MEMBERS.has(key)) this.node(properties[key], member, at, inner(owner, key));
      } else if (closed) this.undefinedMember(key, at, owner);
      else if (isObject(additionalProperties)) this.node(additionalProperties, member, at, owner);
    }
  }

  undefinedMember(key, at, owner) {
    if (owner.endsWith('Capabilities') && key === 'extensions') return;
    const elsewhere = [...this.strict.known.get(`${owner}.${key}`) ?? []];
    if (elsewhere.length) {
      this.found.push(`${at} is not in ${owner} of ${this.revision}, only of ${elsewhere.join(', ')}`);
    } else if (!this.sent.has(key)) {
      this.found.push(`${at} is in ${owner} of no revision, and no peer sent it`);
    }
  }

  meta(meta, at, owner) {
    const { properties = {} } = this.definitions[owner] ?? {};
    if (!('_meta' in properties) && this.strict.known.has(`${owner}._meta`) && !isBase(owner)) {
      this.found.push(`${at} is not in ${owner} of ${this.revision}`);
    }
    if (!isObject(meta)) return;
    const own = this.definitions[properties._meta?.$ref?.split('/').pop()]?.properties ?? {};
    for (const key of Object.keys(own)) {
      if (key in meta) this.node(own[key], meta[key], `${at}.${key}`, inner(owner, key));
    }
    for (const key of Object.keys(meta).filter((k) => OWN_PREFIX.test(k))) {
      const having = this.strict.metaKeys.get(key);
      if (having ? !having.has(this.revision) : !this.sent.has(key)) {
        this.found.push(`${at} has ${key}, which is not of ${this.revision}`);
      }
    }
  }
}
const isBase = (owner) => /(Params|Result)$/.test(owner);
