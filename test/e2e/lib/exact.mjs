// A server that speaks one revision exactly: everything that the revision defines and nothing that it
// does not. The same tables say what a caller of another revision must see of it. exact_stdio.mjs and
// exact_http.mjs give it a wire.
import { REVISIONS } from './schema.mjs';

export const MODERN = '2026-07-28';
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const META = 'io.modelcontextprotocol/';

// From which revision on, and until which.
const FEATURES = {
  audio: ['2025-03-26'], toolAnnotations: ['2025-03-26'], progressMessage: ['2025-03-26'],
  completions: ['2025-03-26'], link: ['2025-06-18'], structured: ['2025-06-18'], title: ['2025-06-18'],
  itemMeta: ['2025-06-18'], outputSchema: ['2025-06-18'], lastModified: ['2025-06-18'],
  context: ['2025-06-18'], icons: ['2025-11-25'], implementation: ['2025-11-25'],
  execution: ['2025-11-25', '2025-11-25'], modern: [MODERN], structuredAny: [MODERN] };
export function defines(revision, feature) {
  const [first, last = REVISIONS.at(-1)] = FEATURES[feature];
  return first <= revision && revision <= last;
}
// What all of those revisions define.
export const common = (...revisions) => (feature) => revisions.every((r) => defines(r, feature));
const only = (has, members) => Object.fromEntries(Object.entries(members)
  .filter(([, [feature]]) => feature === null || has(feature)).map(([key, [, value]]) => [key, value]));

const icons = [{ src: 'https://icons.example/i.png', mimeType: 'image/png', sizes: ['48x48'] }];
const annotations = (has) => only(has, { audience: [null, ['user']], priority: [null, 0.5],
  lastModified: ['lastModified', '2025-01-12T15:00:58Z'] });

export const implementation = (has, name) => only(has, { name: [null, name], version: [null, '1.2.3'],
  title: ['title', 'Exact'], description: ['implementation', 'Speaks one revision'],
  icons: ['icons', icons], websiteUrl: ['implementation', 'https://exact.example/'] });

const schema = { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: true };
const tool = (has, name) => only(has, { name: [null, name], description: [null, `The tool ${name}`],
  inputSchema: [null, schema], title: ['title', `Tool ${name}`], icons: ['icons', icons],
  annotations: ['toolAnnotations', { title: 'T', readOnlyHint: false, destructiveHint: false,
    idempotentHint: false, openWorldHint: false }],
  outputSchema: name === 'echo' ? ['outputSchema', { type: 'object' }] : ['none'],
  execution: ['execution', { taskSupport: 'forbidden' }], _meta: ['itemMeta', { 'vendor/t': { a: [1.5] } }] });
FEATURES.none = ['9999-01-01'];
export const toolNames = ['echo', 'any', 'fail', 'work', 'hang', 'change'];

export const definitions = (has) => ({
  tools: toolNames.map((name) => tool(has, name)),
  prompts: [only(has, { name: [null, 'greet'], description: [null, 'Greets'], title: ['title', 'Greet'],
    icons: ['icons', icons], _meta: ['itemMeta', { 'vendor/p': 1 }],
    arguments: [null, [only(has, { name: [null, 'who'], description: [null, 'Whom'], required: [null, true],
      title: ['title', 'Who'] })]] })],
  resources: [only(has, { uri: [null, 'exact://one'], name: [null, 'one'], description: [null, 'The one'],
    mimeType: [null, 'text/plain'], size: [null, 7], annotations: [null, annotations(has)],
    title: ['title', 'One'], icons: ['icons', icons], _meta: ['itemMeta', { 'vendor/r': 1 }] })],
  resourceTemplates: [only(has, { uriTemplate: [null, 'exact://many/{n}'], name: [null, 'many'],
    description: [null, 'Many'], mimeType: [null, 'text/plain'], annotations: [null, annotations(has)],
    title: ['title', 'Many'], icons: ['icons', icons], _meta: ['itemMeta', { 'vendor/m': 1 }] })] });

const withBlock = (has, block) => ({ ...block, annotations: annotations(has),
  ...(has('itemMeta') && { _meta: { 'vendor/b': 1 } }) });
export const contents = (has, uri, text) => only(has, { uri: [null, uri], mimeType: [null, 'text/plain'],
  text: [null, text], _meta: ['itemMeta', { 'vendor/c': 1 }] });

// The content of a result of a server of `revision` as a caller of `caller` gets it, who sees URIs as
// `place` says.
export function blocks(revision, caller, text, place = (uri) => uri) {
  const has = common(revision, caller);
  const block = (members) => withBlock(has, members);
  const words = (said) => ({ type: 'text', text: said, annotations: annotations(has) });
  const link = { type: 'resource_link', uri: place('exact://one'), name: 'one', description: 'The one',
    mimeType: 'text/plain', size: 7, title: 'One' };
  const found = [block({ type: 'text', text }),
    block({ type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }),
    block({ type: 'resource', resource: contents(has, place('exact://one'), 'content') })];
  if (defines(revision, 'audio')) {
    found.push(has('audio') ? block({ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' })
      : words(`[audio, audio/wav, 3 bytes: not representable in MCP ${caller}]`));
  }
  if (defines(revision, 'link')) {
    found.push(has('link') ? { ...block(link), ...(has('icons') && { icons }) }
      : words(`[resource: one, ${place('exact://one')}, text/plain] The one`));
  }
  return found;
}
// Structured content that the caller cannot have is there as text.
export function callResult(revision, caller, args, structured, place) {
  const has = common(revision, caller);
  const result = { content: blocks(revision, caller, JSON.stringify(args), place), isError: false,
    _meta: { 'vendor/x': 1 } };
  if (structured === undefined || !defines(revision, 'structured')) return result;
  const kept = Array.isArray(structured) ? has('structuredAny') : has('structured');
  if (kept) result.structuredContent = structured;
  else result.content.push({ type: 'text', text: JSON.stringify(structured) });
  return result;
}

export class Exact {
  // `tell(message)` on what a request may be told about while it runs; `push(message)` unasked.
  constructor(revision, name) {
    Object.assign(this, { revision, name, modern: revision === MODERN, level: 'debug', log: [],
      hanging: new Map(), changed: false, push: () => {} });
    this.has = common(revision);
    this.info = implementation(this.has, name);
  }

  capabilities() {
    const changing = { listChanged: true };
    return { logging: {}, tools: changing, prompts: changing, resources: { ...changing, subscribe: true },
      ...(this.has('completions') && { completions: {} }) };
  }

  // The result, or {error}; undefined when it is never answered.
  async answer({ id, method, params = {} }, tell) {
    const result = await this.#result({ id, method, params }, tell);
    if (result === undefined || result.error || !this.modern) return result;
    const cacheable = /list$|read$|discover$/.test(method) ? { ttlMs: 60_000, cacheScope: 'public' } : {};
    return { resultType: 'complete', ...cacheable, ...result,
      _meta: { ...result._meta, [`${META}serverInfo`]: this.info } };
  }

  async #result({ id, method, params }, tell) {
    const lists = { 'tools/list': 'tools', 'prompts/list': 'prompts', 'resources/list': 'resources',
      'resources/templates/list': 'resourceTemplates' };
    if (lists[method]) return { [lists[method]]: this.#list(lists[method]) };
    switch (method) {
      case 'initialize': return this.modern ? unknown(method) : { protocolVersion: this.revision,
        capabilities: this.capabilities(), serverInfo: this.info, instructions: 'Exactly.' };
      case 'server/discover': return this.modern ? { supportedVersions: [MODERN],
        capabilities: this.capabilities(), instructions: 'Exactly.' } : unknown(method);
      case 'ping': return this.modern ? unknown(method) : {};
      case 'logging/setLevel': this.level = params.level; return this.modern ? unknown(method) : {};
      case 'tools/call': return this.#call(id, params, tell);
      case 'prompts/get': return { description: 'Greets', messages: blocks(this.revision, this.revision,
        `hello ${params.arguments?.who}`).map((content) => ({ role: 'user', content })), _meta: { 'vendor/g': 1 } };
      case 'resources/read': return this.#read(params.uri);
      case 'completion/complete': this.log.push({ completed: params });
        return { completion: { values: [`${params.argument.value}-done`], total: 1, hasMore: false } };
      default: return unknown(method);
    }
  }
  #list(member) {
    const list = definitions(this.has)[member];
    return member === 'tools' && this.changed ? [...list, tool(this.has, 'changed')] : list;
  }
  #read(uri) {
    if (uri === 'exact://one' || uri.startsWith('exact://many/')) {
      return { contents: [contents(this.has, uri, `content of ${uri}`)], _meta: { 'vendor/d': 1 } };
    }
    return { error: { code: this.modern ? -32602 : -32002, message: 'Resource not found', data: { uri } } };
  }

  async #call(id, { name, arguments: args, _meta = {} }, tell) {
    switch (name) {
      case 'echo': return callResult(this.revision, this.revision, args, { echo: args });
      case 'any': return callResult(this.revision, this.revision, args,
        this.has('structuredAny') ? [1.5, args] : undefined);
      case 'fail': return { error: { code: 4711, message: 'my own words', data: { n: 1.5, args } } };
      case 'hang': this.log.push({ hangs: args.key });
        return new Promise((resolve) => { this.hanging.set(JSON.stringify(id), { key: args.key, resolve }); });
      case 'change': this.changed = !this.changed;
        this.push({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
        return callResult(this.revision, this.revision, args);
      case 'work': await this.#work(_meta, tell);
        return callResult(this.revision, this.revision, args);
      default: return { error: { code: -32602, message: `Unknown tool: ${name}` } };
    }
  }
  async #work({ progressToken, ...meta }, tell) {
    const level = this.modern ? meta[`${META}logLevel`] : this.level;
    const notify = (method, params) => tell({ jsonrpc: '2.0', method, params });
    for (const progress of [1, 2]) {
      if (progressToken === undefined) continue;
      await notify('notifications/progress', { progressToken, progress, total: 2,
        ...(this.has('progressMessage') && { message: `step ${progress}` }) });
    }
    if (level === undefined || LEVELS.indexOf('warning') < LEVELS.indexOf(level)) return;
    await notify('notifications/message', { level: 'warning', logger: 'exact', data: { step: 2 } });
  }

  cancelled(id) {
    const waiting = this.hanging.get(JSON.stringify(id));
    this.hanging.delete(JSON.stringify(id));
    if (!waiting) return;
    this.log.push({ cancelled: waiting.key });
    waiting.resolve(undefined);
  }
}
const unknown = (method) => ({ error: { code: -32601, message: `Method not found: ${method}` } });
