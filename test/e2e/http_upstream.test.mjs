// Servers over HTTP, seen from both sides: a scripted server in this process, the real daemon between.
import assert from 'node:assert/strict';
import test from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

import { Daemon } from './lib/daemon.mjs';
import { call, pair, text, TOOL } from './lib/pair.mjs';
import { ScriptedHttpServer } from './lib/scripted_http_server.mjs';
import { modern, Session } from './lib/speak.mjs';

test('C31: over HTTP too, a cursor that repeats forever ends the list, and is reported', async (t) => {
  for (const era of ['legacy', 'modern']) {
    const upstream = await ScriptedHttpServer.start(t, { era });
    upstream.on('tools/list', { result: { ...(era === 'modern' && { resultType: 'complete', ttlMs: 60_000,
      cacheScope: 'public' }), tools: [TOOL], nextCursor: 'again' } });
    const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
    const { tools } = (await modern(daemon.url, 'tools/list')).message.result;
    assert.deepEqual(tools.map((x) => x.name), ['web__x'], era);
    assert.ok(upstream.received('tools/list').length < 10, era);
    assert.match((await daemon.rest('/v1/servers/web')).text, /cursor/, era);
    await daemon.stop();
  }
});

// How servers spell one event stream: %s is the answer. What has an end has the answer before it.
const ANSWER = '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"told"}]}}';
const SPLIT = ANSWER.replace('"result":', '\n"result":').replace('{"content"', '\n{"content"').split('\n');
const SPELLINGS = {
  'LF': `event: message\ndata: ${ANSWER}\n\n`,
  'CRLF': `event: message\r\ndata: ${ANSWER}\r\n\r\n`,
  'CR': `event: message\rdata: ${ANSWER}\r\r`,
  'line ends of all kinds in one event': `: hi\r\nevent: message\rid: 4\ndata: ${ANSWER}\r\n\n`,
  'no event field': `data: ${ANSWER}\n\n`,
  'no space after the colon': `event:message\ndata:${ANSWER}\n\n`,
  'data over several lines': `${SPLIT.map((part) => `data: ${part}\n`).join('')}\n`,
  'data over several lines with CR': `${SPLIT.map((part) => `data: ${part}\r`).join('')}\r`,
  'comments': `:\n: keep-alive\n\n:\n\nevent: message\n: between\ndata: ${ANSWER}\n:\n\n`,
  'a byte order mark': `\ufeffdata: ${ANSWER}\n\n`,
  'a byte order mark before a comment': `\ufeff: hello\n\ndata: ${ANSWER}\n\n`,
  'an event with empty data first': `id: 1\ndata:\n\ndata: \n\ndata\n\ndata: ${ANSWER}\n\n`,
  'retry': `retry: 250\n\nretry: soon\n\nretry: 99999999999999999999\nid: 1\ndata: ${ANSWER}\n\n`,
  'unknown fields': `colour: green\nevent: message\ndata: ${ANSWER}\nnothing\n\n`,
  'an id with a NUL': `id: a\u0000b\ndata: ${ANSWER}\n\n`,
  'white space around the JSON': `data:    ${ANSWER}   \n\n`,
};

test('C37: any spelling of an event stream is understood', async (t) => {
  const { upstream, daemon } = await pair(t);
  for (const [name, spelling] of Object.entries(SPELLINGS)) {
    for (const deliver of [{}, { pieces: 1, every: 0 }, { pieces: 7 }]) {
      upstream.once('tools/call', (exchange) => {
        exchange.rule.deliver = deliver;
        return exchange.events([spelling.replace('%s', JSON.stringify(exchange.id))]);
      });
      const answer = await call(daemon);
      assert.equal(text(answer), 'told', `${name} ${JSON.stringify(deliver)}: ${answer.text}`);
    }
  }
  assert.equal(upstream.received('tools/call').length, 3 * Object.keys(SPELLINGS).length,
    'nothing was asked twice');
});

test('C37: our own events carry `event: message`, whatever the server wrote', async (t) => {
  const { upstream, daemon } = await pair(t);
  upstream.on('tools/call', (exchange) => exchange.events([
    `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: {
      progressToken: exchange.message.params._meta.progressToken, progress: 1 } })}\n\n`,
    `data: ${ANSWER.replace('%s', JSON.stringify(exchange.id))}\n\n`]));
  const session = await Session.open(daemon.url, { endpoint: '/mcp/web' });
  const answers = [await session.call('tools/call', { name: 'x', _meta: { progressToken: 'p' } }),
    await call(daemon, {}, { meta: { progressToken: 'p' } })];
  for (const answer of answers) {
    assert.match(answer.headers['content-type'], /^text\/event-stream/);
    const blocks = answer.text.split('\n\n').filter((block) => /^data:/m.test(block));
    assert.ok(blocks.length >= 2, answer.text);
    for (const block of blocks) {
      if (/^data: ?$/m.test(block)) continue;  // primes a client's Last-Event-ID
      assert.match(block, /^event: message$/m);
    }
    assert.equal(text(answer), 'told');
  }
});

const ZIPPED = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync };
test('C38: a compressed answer that nobody asked for is decoded', async (t) => {
  const { upstream, daemon } = await pair(t);
  const answer = (exchange) => JSON.stringify({ jsonrpc: '2.0', id: exchange.id,
    result: { content: [{ type: 'text', text: 'z'.repeat(100_000) }] } });
  for (const [coding, zip] of Object.entries(ZIPPED)) {
    for (const deliver of [{}, { pieces: 7, every: 0 }]) {
      const headers = { 'Content-Encoding': coding };
      upstream.once('tools/call',
        (exchange) => {
          exchange.rule.deliver = deliver;
          return exchange.reply({ headers: { ...headers, 'Content-Type': 'application/json' },
            body: zip(answer(exchange)) });
        },
        (exchange) => {
          exchange.rule.deliver = deliver;
          return exchange.reply({ headers: { ...headers, 'Content-Type': 'text/event-stream' }, chunked: true,
            body: zip(`event: message\ndata: ${answer(exchange)}\n\n`) });
        });
      for (const kind of ['JSON', 'events']) {
        const got = await call(daemon);
        assert.equal(text(got)?.length, 100_000, `${coding} ${kind}: ${got.text.slice(0, 300)}`);
      }
    }
  }
  for (const { headers } of upstream.requests) {
    assert.ok(['identity', undefined].includes(headers['accept-encoding']), headers['accept-encoding']);
  }
});

test('C38: what cannot be decoded is a clear error, and harms nothing else', async (t) => {
  const { upstream, daemon } = await pair(t);
  const body = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}');
  const bad = [['br', brotliCompressSync(body), /\bbr\b/], ['gzip', Buffer.from('this is no gzip'), /gzip/],
    ['gzip', gzipSync(body).subarray(0, 30), /gzip/]];
  for (const [coding, bytes, word] of bad) {
    upstream.once('tools/call', { status: 200, body: bytes,
      headers: { 'Content-Type': 'application/json', 'Content-Encoding': coding } });
    const got = await call(daemon);
    assert.equal(got.message.error?.data?.server, 'web', got.text);
    assert.match(got.message.error.message, word);
    assert.match(got.message.error.data.code, /^upstream\./);
    assert.equal(text(await call(daemon)), 'x:{}');
  }
});

test('C60: a server that names only legacy versions is a legacy server', async (t) => {
  const upstream = await ScriptedHttpServer.start(t, { tools: [TOOL], sessions: false });
  upstream.on('server/discover', { result: { resultType: 'complete', capabilities: { tools: {} },
    supportedVersions: ['2025-06-18', '2025-11-25'], ttlMs: 0, cacheScope: 'private' } });
  const daemon = await Daemon.start(t, { servers: { web: { url: upstream.url } } });
  assert.equal((await daemon.server('web')).protocol, '2025-11-25');
  assert.equal(text(await call(daemon)), 'x:{}');
  const [asked] = upstream.received('tools/call');
  assert.equal(asked.headers['mcp-protocol-version'], '2025-11-25');
  assert.equal(asked.headers['mcp-method'], undefined);
  assert.equal(upstream.received('initialize').length, 1);
  assert.equal(upstream.received('initialize')[0].message.params._meta, undefined);
});
