// Every frame mcpx sent, validated against the official schema of the revision in use.
//
// The schemas are read from the specification's directory when it is there ($MCPX_SPEC_DIR, or
// ../shared/spec beside the checkout); without it `load` answers null and the caller reports the
// check as skipped. Definitions are found by data: a request or notification by its `method`
// constant, a result by the request's definition with "Result" for "Request".
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { npmDir, specDir } from './paths.mjs';

const require = createRequire(path.join(npmDir, 'package.json'));
const EMPTY = new Set(['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']);
const ERRORS = { '-32020': 'HeaderMismatchError', '-32021': 'MissingRequiredClientCapabilityError',
  '-32022': 'UnsupportedProtocolVersionError', '-32042': 'URLElicitationRequiredError' };

export class Schemas {
  static load() {
    const dir = specDir();
    return dir ? new Schemas(dir) : null;
  }

  constructor(dir) {
    this.dir = dir;
    this.revisions = new Map();
  }

  revision(name) {
    if (!this.revisions.has(name)) this.revisions.set(name, new Revision(this.dir, name));
    return this.revisions.get(name);
  }

  // `frames`: {text, from, revision, channel}, in order. Those with from === 'mcpx' are checked;
  // requests of both sides are remembered per channel and side, so that a result finds its method.
  // Answers {checked, problems: [text]}.
  check(frames) {
    const problems = [];
    const pending = new Map();
    let checked = 0;
    for (const frame of frames) {
      let parsed;
      try {
        parsed = JSON.parse(frame.text);
      } catch (error) {
        if (frame.from === 'mcpx') problems.push(`not JSON: ${clip(frame.text)} (${error.message})`);
        continue;
      }
      for (const message of Array.isArray(parsed) ? parsed : [parsed]) {
        const key = (side) => `${frame.channel}/${side}/${JSON.stringify(message.id)}`;
        const isAnswer = 'result' in message || 'error' in message;
        let method = message.method;
        if (!isAnswer && message.id !== undefined) pending.set(key(frame.from), method);
        if (isAnswer) method = pending.get(key(frame.from === 'mcpx' ? otherOf(frames) : 'mcpx'));
        if (frame.from !== 'mcpx') continue;
        checked++;
        if (isAnswer && method === undefined && message.id !== undefined && message.id !== null) {
          problems.push(`answer to nothing: ${clip(frame.text)}`);
          continue;
        }
        for (const problem of this.revision(frame.revision).problems(message, method)) {
          problems.push(`${frame.revision} ${method ?? 'error'}: ${problem} in ${clip(frame.text)}`);
        }
      }
    }
    return { checked, problems };
  }
}

function otherOf(frames) {
  return frames.find((f) => f.from !== 'mcpx')?.from ?? 'client';
}
function clip(text) {
  return text.length > 600 ? `${text.slice(0, 600)}... (${text.length} bytes)` : text;
}

class Revision {
  constructor(dir, name) {
    const schema = JSON.parse(readFileSync(path.join(dir, name, 'schema.json'), 'utf8'));
    this.key = '$defs' in schema ? '$defs' : 'definitions';
    this.definitions = schema[this.key];
    const module = this.key === '$defs' ? 'ajv/dist/2020.js' : 'ajv';
    const Ajv = require(module).default;
    this.ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true });
    require('ajv-formats').default(this.ajv);
    this.ajv.addFormat('byte', /^[A-Za-z0-9+/]*={0,2}$/);
    this.ajv.addSchema({ ...schema, $id: 'mcp' });
    this.byMethod = new Map();
    for (const [definition, body] of Object.entries(this.definitions)) {
      const method = body.properties?.method?.const;
      if (method) this.byMethod.set(method, definition);
    }
  }

  has(definition) { return definition in this.definitions; }

  against(definition, value) {
    const validate = this.ajv.getSchema(`mcp#/${this.key}/${definition}`);
    if (!validate) return [`the schema has no ${definition}`];
    if (validate(value)) return [];
    return validate.errors.map((e) => `${definition}${e.instancePath} ${e.message}`);
  }

  problems(message, method) {
    const first = (...names) => names.find((n) => this.has(n));
    if ('error' in message) {
      const found = this.against(first('JSONRPCErrorResponse', 'JSONRPCError'), message);
      const typed = ERRORS[message.error?.code];
      return typed && this.has(typed) ? [...found, ...this.against(typed, message)] : found;
    }
    if ('result' in message) {
      return [...this.against(first('JSONRPCResultResponse', 'JSONRPCResponse'), message),
        ...this.#result(message.result, method)];
    }
    const envelope = message.id === undefined ? 'JSONRPCNotification' : 'JSONRPCRequest';
    const definition = this.byMethod.get(method);
    if (!definition) return [`no such method in this revision: ${method}`];
    return [...this.against(envelope, message), ...this.against(definition, message)];
  }

  #result(result, method) {
    if (result?.resultType === 'input_required') return this.against('InputRequiredResult', result);
    if (EMPTY.has(method)) return this.against('EmptyResult', result);
    const definition = this.byMethod.get(method)?.replace(/Request$/, 'Result');
    if (!definition || !this.has(definition)) return [`no result defined for ${method}`];
    return this.against(definition, result);
  }
}

// What a recorder in front of the daemon saw, as frames: the revision comes from the request's
// _meta, its header, or the session's initialize.
export function framesOfHttp(entries) {
  const ofSession = new Map();
  const ofChannel = new Map();
  return entries.map((entry) => {
    let revision = ofChannel.get(entry.channel);
    let message = null;
    try {
      message = JSON.parse(entry.text);
    } catch { /* check() reports it */ }
    if (entry.from === 'client' && message) {
      revision = message.params?._meta?.['io.modelcontextprotocol/protocolVersion']
        ?? (message.method === 'initialize' ? message.params.protocolVersion
          : ofSession.get(entry.session) ?? entry.version);
      ofChannel.set(entry.channel, revision);
    }
    if (message?.result?.protocolVersion) {
      revision = message.result.protocolVersion;
      if (entry.session) ofSession.set(entry.session, revision);
    }
    revision ??= ofSession.get(entry.session) ?? entry.version ?? '2025-03-26';
    return { text: entry.text, from: entry.from, revision, channel: entry.channel };
  });
}

// What a tee beside a stdio server saw. One channel; the revision follows the conversation.
export function framesOfStdio(lines, { other = 'server', initial = '2025-11-25' } = {}) {
  let revision = initial;
  return lines.filter((l) => !l.cut && l.text.trim() !== '').map(({ from, text }) => {
    let message = null;
    try {
      message = JSON.parse(text);
    } catch { /* as above */ }
    const meta = message?.params?._meta?.['io.modelcontextprotocol/protocolVersion'];
    let now = revision;
    if (meta) now = meta;
    else if (message?.method === 'initialize') now = revision = message.params.protocolVersion;
    else if (message?.result?.protocolVersion) now = revision = message.result.protocolVersion;
    else if (message?.result?.supportedVersions) now = '2026-07-28';
    return { text, from: from === 'mcpx' ? 'mcpx' : other, revision: now, channel: 1 };
  });
}
