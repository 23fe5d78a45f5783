// What the upstreams of the fault harness have in common, over any transport: one server, in one era,
// which notes every call of `echo` that it carries out.
import { appendFileSync } from 'node:fs';
import path from 'node:path';

import { contentOf, definitions } from '../echo.mjs';

export const MODERN = '2026-07-28';

export class EchoServer {
  // NAME.executed in `dir` gets the nonce of every call: a call must not be carried out twice.
  constructor({ name, era, dir }) {
    Object.assign(this, { name, era, executed: path.join(dir, `${name}.executed`),
      record: path.join(dir, `${name}.record.jsonl`) });
  }

  // What mcpx sent, for the check of its frames (lib/frame_check.mjs).
  heard(text) {
    if (text) appendFileSync(this.record, JSON.stringify({ at: 'line', pid: process.pid, text }) + '\n');
  }

  // The answer to one request, as {result} or {error}; params are already parsed.
  answer(method, params = {}) {
    const modern = this.era === 'modern';
    const capabilities = { tools: { listChanged: false } };
    const serverInfo = { name: this.name, version: '1' };
    const ok = (result) => ({ result: modern ? { resultType: 'complete', ...result } : result });
    if (method === 'initialize' && !modern) {
      return ok({ protocolVersion: params.protocolVersion, capabilities, serverInfo });
    }
    if (method === 'server/discover' && modern) {
      return ok({ supportedVersions: [MODERN], capabilities, ttlMs: 1000, cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } });
    }
    if (method === 'ping') return ok({});
    if (method === 'tools/list') {
      return ok({ tools: definitions, ...(modern ? { ttlMs: 1000, cacheScope: 'private' } : {}) });
    }
    if (method === 'tools/call') {
      if (params.name === 'echo') appendFileSync(this.executed, `${params.arguments.nonce}\n`);
      return ok({ content: contentOf(this.name, params.arguments) });
    }
    return { error: { code: -32601, message: 'Method not found' } };
  }
}

export const frame = (id, answer) => JSON.stringify({ jsonrpc: '2.0', id, ...answer });
export const progress = (token, done) => JSON.stringify({ jsonrpc: '2.0',
  method: 'notifications/progress', params: { progressToken: token, progress: done } });
// An error of the server's own: reaches the caller as it is.
export const ownError = (nonce) => ({ error: { code: 4711, message: 'not today', data: { nonce } } });
