// MCP by hand over HTTP, both eras, for tests about what is on the wire.
import assert from 'node:assert/strict';

import { request } from './http.mjs';
import { openStream } from './streams.mjs';

export const MODERN = '2026-07-28';
export const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const JSON_TYPE = { 'content-type': 'application/json' };
const ACCEPT = { accept: 'application/json, text/event-stream' };
const NAMED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri',
  'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId' };

export function modernMeta(extra = {}) {
  return {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'e2e', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...extra,
  };
}

export function modernHeaders(method, params = {}) {
  const headers = { ...JSON_TYPE, ...ACCEPT, 'mcp-protocol-version': MODERN, 'mcp-method': method };
  const named = NAMED[method];
  if (named && params[named] !== undefined) headers['mcp-name'] = params[named];
  return headers;
}

// `text` gives the whole body instead of one made from method and params; `headers` are merged, a
// value of null removes one.
export async function modern(base, method, params = {}, options = {}) {
  const id = options.id ?? 1;
  const body = options.text ?? JSON.stringify({
    jsonrpc: '2.0', id, method, params: { ...params, _meta: modernMeta(options.meta) } });
  const answer = await request(base, {
    path: options.endpoint ?? '/mcp', method: 'POST', body,
    headers: merge(modernHeaders(method, params), options.headers), timeout: options.timeout });
  return finish(answer);
}

// One legacy session. `call` answers {status, headers, text, message, raw}.
export class Session {
  static async open(base, { revision = '2025-11-25', endpoint = '/mcp', capabilities = {},
    headers = {} } = {}) {
    const session = new Session(base, revision, endpoint, headers);
    const opened = await session.call('initialize', {
      protocolVersion: revision, capabilities, clientInfo: { name: 'e2e', version: '1' } });
    assert.equal(opened.status, 200, opened.text);
    session.id = opened.headers['mcp-session-id'];
    session.initialized = opened.message.result;
    session.revision = session.initialized.protocolVersion;
    const noted = await session.notify('notifications/initialized');
    assert.equal(noted.status, 202, noted.text);
    return session;
  }

  constructor(base, revision, endpoint, headers) {
    Object.assign(this, { base, revision, endpoint, extra: headers, next: 1, id: undefined });
  }

  headers(more = {}) {
    const headers = { ...JSON_TYPE, ...ACCEPT, ...this.extra };
    if (this.id) {
      headers['mcp-session-id'] = this.id;
      if (this.revision >= '2025-06-18') headers['mcp-protocol-version'] = this.revision;
    }
    return merge(headers, more);
  }

  post(text, { headers, timeout } = {}) {
    return request(this.base, { path: this.endpoint, method: 'POST', body: text,
      headers: this.headers(headers), timeout });
  }

  async call(method, params, options = {}) {
    const id = options.id ?? this.next++;
    const text = options.text ?? JSON.stringify({ jsonrpc: '2.0', id, method, params });
    return finish(await this.post(text, options));
  }

  notify(method, params) {
    return this.post(JSON.stringify({ jsonrpc: '2.0', method, params }));
  }

  async list(method, member) {
    const items = [];
    let cursor;
    do {
      const page = await this.call(method, cursor === undefined ? {} : { cursor });
      assert.ok(page.message?.result, `${method}: ${page.text}`);
      items.push(...page.message.result[member]);
      cursor = page.message.result.nextCursor;
    } while (cursor !== undefined);
    return items;
  }
  tools() { return this.list('tools/list', 'tools'); }
  prompts() { return this.list('prompts/list', 'prompts'); }

  // The session's GET stream, see streams.mjs.
  stream() {
    return openStream(this.base, { path: this.endpoint,
      headers: { ...this.headers({ 'content-type': null }), accept: 'text/event-stream' } });
  }

  close() {
    return request(this.base, { path: this.endpoint, method: 'DELETE', headers: this.headers() });
  }
}

function merge(headers, more = {}) {
  const merged = { ...headers };
  for (const [key, value] of Object.entries(more)) {
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  return merged;
}

// Adds the answer itself (the last message that is a response): `raw` as text, `message` parsed.
function finish(answer) {
  for (const raw of answer.messages()) {
    let message;
    try {
      message = JSON.parse(raw);
    } catch {
      continue;
    }
    if ('result' in message || 'error' in message) Object.assign(answer, { raw, message });
  }
  return answer;
}
