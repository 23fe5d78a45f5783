// The front door against clients that mean harm or are badly broken: every request gets a defined
// answer, what one costs is bounded, and another client is served all the while.
import assert from 'node:assert/strict';
import net from 'node:net';
import test from 'node:test';

import { Daemon, tiny } from './lib/daemon.mjs';
import { sanitized } from './lib/paths.mjs';
import { usage } from './lib/processes.mjs';
import { modern } from './lib/speak.mjs';
import { eventually, within } from './lib/wait.mjs';

const LIMITS = { head: '8KiB', headers: 32, body: '64KiB' };

// A bare connection: `text` is what it said so far, `ended` resolves with all of it.
class Bare {
  static async open(daemon) {
    const bare = new Bare();
    bare.socket = net.connect({ port: daemon.port, host: '127.0.0.1', allowHalfOpen: true });
    bare.text = '';
    bare.socket.setNoDelay(true);
    bare.socket.on('data', (chunk) => { bare.text += chunk.toString('latin1'); });
    bare.socket.on('error', () => {});
    bare.ended = new Promise((resolve) => {
      bare.socket.on('end', () => { resolve(bare.text); bare.socket.end(); });
      bare.socket.on('close', () => resolve(bare.text));
    });
    await new Promise((resolve, reject) => bare.socket.once('connect', resolve).once('error', reject));
    return bare;
  }
  send(bytes) { return new Promise((resolve) => { this.socket.write(bytes, resolve); }); }
  says(pattern) { return eventually(`answer ${pattern}`, () => pattern.test(this.text)); }
  close() { this.socket.destroy(); }
}

// What a connection answers to `bytes` before it ends.
async function answerTo(daemon, bytes) {
  const bare = await Bare.open(daemon);
  bare.send(bytes);
  try {
    return await within('the end of the connection', 15_000, bare.ended);
  } finally {
    bare.close();
  }
}
const statuses = (text) => [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map((m) => Number(m[1]));

// Calls while the test does its harm; `stop()` fails if one of them did.
function bystander(daemon) {
  let going = true;
  const done = (async () => {
    let calls = 0;
    while (going) {
      const answer = await modern(daemon.url, 'tools/call', { name: 's__ping', arguments: {} });
      assert.equal(answer.message?.result?.content?.[0]?.text, 'pong', `${answer.status} ${answer.text}`);
      ++calls;
    }
    return calls;
  })();
  done.catch(() => {});
  return { async stop() { going = false; assert.ok(await done > 0, 'nobody else was served'); } };
}

async function house(t, config = {}, options = {}) {
  const daemon = await Daemon.start(t, { log: { level: 'info' }, limits: LIMITS, ...config,
    servers: { s: tiny() } }, options);
  daemon.host = `Host: 127.0.0.1:${daemon.port}\r\n`;
  return daemon;
}
const SMUGGLED = 'GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n';
const TYPE = 'Content-Type: application/json\r\n';

test('what two readers could read differently is refused, and nothing after it is read', async (t) => {
  const daemon = await house(t);
  const other = bystander(daemon);
  const { host } = daemon;
  const post = (fields, body = '') => `POST /mcp HTTP/1.1\r\n${host}${TYPE}${fields}\r\n${body}`;
  const chunked = (body) => post('Transfer-Encoding: chunked\r\n', body);
  const cases = [
    ['a length and a coding', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
    ['a coding and a length', post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'), 400],
    ['two lengths', post('Content-Length: 0\r\nContent-Length: 44\r\n'), 400],
    ['a list of lengths', post('Content-Length: 0, 44\r\n'), 400],
    ['a signed length', post('Content-Length: +0\r\n'), 400],
    ['a negative length', post('Content-Length: -1\r\n'), 400],
    ['a hexadecimal length', post('Content-Length: 0x0\r\n'), 400],
    ['an endless length', post(`Content-Length: ${'9'.repeat(40)}\r\n`), 400],
    ['a length with words', post('Content-Length: 0 zero\r\n'), 400],
    ['two codings', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
    ['a coding twice', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'), 400],
    ['an unknown coding', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), 501],
    ['stacked codings', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), 501],
    ['chunked not last', post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'), 501],
    ['an empty coding', post('Transfer-Encoding: \r\n', '0\r\n\r\n'), 400],
    ['chunks in HTTP/1.0', `POST /mcp HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ['a space before the colon', post('Content-Length : 0\r\n'), 400],
    ['a space in the coding\'s name', post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'), 400],
    ['a folded line', post('X-A: b\r\n Content-Length: 9\r\n'), 400],
    ['a folded first line', `POST /mcp HTTP/1.1\r\n X-A: b\r\n${host}\r\n`, 400],
    ['bare line feeds', `GET /v1/health HTTP/1.1\n${host.replace('\r', '')}\n`, 400],
    ['one bare line feed', post('X-A: b\nContent-Length: 9\r\n'), 400],
    ['a bare carriage return', post('X-A: b\rContent-Length: 9\r\n'), 400],
    ['a NUL in a value', post('X-A: b\0c\r\n'), 400],
    ['a NUL in a name', post('X\0A: b\r\n'), 400],
    ['a header without a name', post(': b\r\n'), 400],
    ['a header without a colon', post('no colon at all\r\n'), 400],
    ['two hosts', post(host), 400],
    ['no host', 'GET /v1/health HTTP/1.1\r\n\r\n', 400],
    ['a list of hosts', 'GET /v1/health HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n', 400],
    ['a user in the host', 'GET /v1/health HTTP/1.1\r\nHost: evil@localhost\r\n\r\n', 400],
    ['a target with a space', `GET /v1/health x HTTP/1.1\r\n${host}\r\n`, 400],
    ['a tab for a space', `GET\t/v1/health HTTP/1.1\r\n${host}\r\n`, 400],
    ['a target with a fragment', `GET /v1/health#x HTTP/1.1\r\n${host}\r\n`, 400],
    ['an unfinished version', `GET /v1/health HTTP/1\r\n${host}\r\n`, 400],
    ['no version', 'GET /v1/health\r\n\r\n', 400],
    ['a chunk of no size', chunked(';x\r\n\r\n'), 400],
    ['a chunk of a signed size', chunked('-1\r\nx\r\n0\r\n\r\n'), 400],
    ['a chunk of a spelled size', chunked('0x1\r\nx\r\n0\r\n\r\n'), 400],
    ['a chunk size after a space', chunked(' 1\r\nx\r\n0\r\n\r\n'), 400],
    ['a chunk that is longer than it says', chunked('1\r\nxyz\r\n0\r\n\r\n'), 400],
    ['a chunk line that ends early', chunked('1\nx\r\n0\r\n\r\n'), 400],
    ['a chunk size beyond 64 bits', chunked(`${'f'.repeat(17)}\r\nx`), 400],
    ['a huge chunk size', chunked('7fffffffffffffff\r\nx'), 413],
    ['an endless chunk extension', chunked(`1;${'x'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`), 400],
    ['endless trailers', chunked(`0\r\n${'X-A: b\r\n'.repeat(5_000)}\r\n`), 400],
    ['a folded trailer', chunked('0\r\nX-A: b\r\n c\r\n\r\n'), 400],
    ['HTTP/2 by the front door', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['HTTP/0.9', 'GET /v1/health\n', 400],
    ['TLS', Buffer.from('16030100050100000100', 'hex'), 400],
    ['nothing of HTTP', '{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\r\n', 400],
    ['an authority for a target', `CONNECT evil.example:443 HTTP/1.1\r\n${host}\r\n`, 400],
    ['an asterisk for a target', `OPTIONS * HTTP/1.1\r\n${host}\r\n`, 400],
    ['another scheme', `GET ftp://localhost/v1/health HTTP/1.1\r\n${host}\r\n`, 400],
  ];
  for (const [name, bytes, status] of cases) {
    const text = await answerTo(daemon, Buffer.concat([Buffer.from(bytes, 'latin1'), Buffer.from(SMUGGLED)]));
    assert.deepEqual(statuses(text), [status], `${name}: ${text}`);
    assert.match(text, /^Connection: close\r$/m, name);
    const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
    assert.match(body.error.code, /^http\./, name);
    assert.ok(body.error.message && body.error.remedy, `${name}: ${JSON.stringify(body)}`);
  }
  await other.stop();
});

test('what is unusual but clear is served', async (t) => {
  const daemon = await house(t);
  const { host } = daemon;
  const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  const hex = ping.length.toString(16);
  const legacy = (fields, body) => `POST /mcp HTTP/1.1\r\n${host}${TYPE}Connection: close\r\n${fields}\r\n${body}`;
  const cases = [
    ['a blank line before it', `\r\n\r\nGET /v1/health HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 200],
    ['HTTP/1.0', `GET /v1/health HTTP/1.0\r\n${host}\r\n`, 200],
    ['a whole URL', `GET http://127.0.0.1:${daemon.port}/v1/health HTTP/1.1\r\nHost: ignored.example\r\nConnection: close\r\n\r\n`, 200],
    ['a whole URL of another host', `GET http://evil.example/v1/health HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 403],
    ['header names in any case', `GET /v1/health HTTP/1.1\r\nhOsT: localhost\r\ncOnNection: close\r\n\r\n`, 200],
    // 400: there is no session, which only a body that was read can tell.
    ['chunk extensions', legacy('Transfer-Encoding: chunked\r\n', `${hex};a=b;c="d e"\r\n${ping}\r\n0;z\r\n\r\n`), 400],
    ['trailers', legacy('Transfer-Encoding: chunked\r\n', `${hex}\r\n${ping}\r\n0\r\nX-T: 1\r\n\r\n`), 400],
    ['HEAD', `HEAD /v1/health HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 405],
    ['OPTIONS', `OPTIONS /mcp HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 405],
    ['PUT', `PUT /mcp HTTP/1.1\r\n${host}Content-Length: 2\r\nConnection: close\r\n\r\n{}`, 405],
    ['PATCH', `PATCH /v1/status HTTP/1.1\r\n${host}Content-Length: 0\r\nConnection: close\r\n\r\n`, 405],
    ['TRACE', `TRACE /mcp HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 405],
    ['a method of its own', `BREW /mcp HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 405],
  ];
  for (const [name, bytes, status] of cases) {
    const text = await answerTo(daemon, bytes);
    assert.deepEqual(statuses(text), [status], `${name}: ${text}`);
    if (name === 'HEAD') assert.ok(text.endsWith('\r\n\r\n'), 'a body after HEAD');
    if (status === 405) assert.match(text, /^Allow: /m, name);
    if (name.startsWith('chunk') || name === 'trailers') assert.match(text, /Mcp-Session-Id/, name);
  }
});

test('Expect: 100-continue is answered before the body comes', async (t) => {
  const daemon = await house(t);
  const bare = await Bare.open(daemon);
  t.after(() => bare.close());
  await bare.send(`POST /mcp HTTP/1.1\r\n${daemon.host}${TYPE}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
  await bare.says(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  await bare.send('{}');
  await bare.says(/\r\n\r\nHTTP\/1\.1 400 /);
  // Too large for it to be worth sending: no 100.
  const text = await answerTo(daemon, `POST /mcp HTTP/1.1\r\n${daemon.host}${TYPE}Expect: 100-continue\r\nContent-Length: 1000000\r\n\r\n`);
  assert.deepEqual(statuses(text), [413]);
  const other = await answerTo(daemon, `GET /v1/health HTTP/1.1\r\n${daemon.host}Expect: a-miracle\r\n\r\n`);
  assert.deepEqual(statuses(other), [417]);
});

test('pipelined requests are answered in their order', async (t) => {
  const daemon = await house(t);
  const bare = await Bare.open(daemon);
  t.after(() => bare.close());
  const wanted = Array.from({ length: 200 }, (_, i) => i);
  const one = (id) => {
    const method = id % 3 === 0 ? 'tools/call' : 'tools/list';
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { name: 's__ping', arguments: {},
      _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'p', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {} } } });
    const named = id % 3 === 0 ? 'Mcp-Name: s__ping\r\n' : '';
    return `POST /mcp HTTP/1.1\r\n${daemon.host}${TYPE}Accept: application/json, text/event-stream\r\n`
      + `Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: ${method}\r\n${named}`
      + `Content-Length: ${body.length}\r\n\r\n${body}`;
  };
  await bare.send(wanted.map(one).join(''));
  const ids = () => [...bare.text.matchAll(/"id":(\d+)[,}]/g)].map((m) => Number(m[1]));
  await eventually('all answers', () => ids().length >= wanted.length, 30_000);
  assert.deepEqual(ids(), wanted);
  assert.ok(statuses(bare.text).every((status) => status === 200));
});

test('heads and bodies without an end are cut off at their limit', async (t) => {
  const daemon = await house(t);
  const other = bystander(daemon);
  const before = usage(daemon.pid).residentKb;
  const start = `POST /mcp HTTP/1.1\r\n${daemon.host}${TYPE}`;
  const piece = Buffer.alloc(16 * 1024, 'x');
  const endless = [
    ['a header line', `${start}X-A: `, () => piece, 431],
    ['header lines', start, (i) => `X-${i}: ${'y'.repeat(100)}\r\n`.repeat(100), 431],
    ['short header lines', start, (i) => `a${i}:\r\n`.repeat(100), 431],
    ['a request line', 'GET /', () => piece, 414],
    ['a method', '', () => piece, 414],
    ['a body', `${start}Transfer-Encoding: chunked\r\n\r\n`, () => `4000\r\n${piece}\r\n`, 413],
    ['a body of tiny chunks', `${start}Transfer-Encoding: chunked\r\n\r\n`,
      () => '1\r\nx\r\n'.repeat(4_000), 413],
    ['an announced body', `${start}Content-Length: 99999999999\r\n\r\n`, () => piece, 413],
  ];
  // `pieces` of some 16 KiB: what comes long after the answer may cost it, when the connection is reset.
  const flood = async (name, first, more, pieces) => {
    const bare = await Bare.open(daemon);
    let open = true;
    bare.ended.then(() => { open = false; });
    bare.socket.on('close', () => { open = false; });
    bare.send(first);
    for (let i = 0; open && i < pieces; i++) {
      if (!bare.socket.write(more(i))) {
        await Promise.race([new Promise((r) => { bare.socket.once('drain', r); }), bare.ended]);
      }
      await new Promise((r) => { setImmediate(r); });
    }
    await within(`the end of ${name}`, 15_000, bare.ended);
    bare.close();
    return bare.text;
  };
  for (const [name, first, more, status] of endless) {
    const text = await flood(name, first, more, 32);
    assert.deepEqual(statuses(text), [status], `${name}: ${text}`);
    assert.match(text, /raise limits\./, name);
  }
  // And if they do not stop at all, the connection ends nevertheless.
  for (const [name, first, more] of endless) await flood(name, first, more, Infinity);
  const after = usage(daemon.pid).residentKb;
  assert.ok(after - before < 32 * 1024 || sanitized(), `${before} KiB before, ${after} KiB after`);
  await other.stop();
});

test('bodies that are no JSON-RPC are answered with what is wrong', async (t) => {
  const daemon = await house(t, { limits: { ...LIMITS, json_depth: 64 } });
  const other = bystander(daemon);
  const cases = [
    ['nothing', '', -32700], ['a NUL', '\0', -32700], ['NULs in it', '{"jsonrpc"\0:"2.0"}', -32700],
    ['a NUL in a text', '{"jsonrpc":"2.0","id":"a\0b","method":"ping"}', -32700],
    ['half of it', '{"jsonrpc":"2.0","id":1', -32700],
    ['two of it', '{"jsonrpc":"2.0","id":1,"method":"ping"}{}', -32700],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), -32700],
    ['a lone surrogate byte', Buffer.from('7b2261223a22eda080227d', 'hex'), -32700],
    ['overlong UTF-8', Buffer.from('7b2261223a22c080227d', 'hex'), -32700],
    ['deep lists', `${'['.repeat(100_0)}${']'.repeat(100_0)}`, undefined],
    ['deep objects', `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(900)}1${'}'.repeat(900)}}`, -32700],
    ['unclosed lists', '['.repeat(30_000), undefined],
    ['a method twice', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', -32600],
    ['an id twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600],
    ['a method twice, once escaped', '{"jsonrpc":"2.0","id":1,"method":"ping","meth\\u006fd":"x"}', -32600],
    ['a number', '42', -32600], ['null', 'null', -32600], ['a text', '"ping"', -32600],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
  ];
  for (const [name, body, code] of cases) {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body, 'latin1');
    const head = `POST /mcp HTTP/1.1\r\n${daemon.host}${TYPE}Accept: application/json\r\n`
      + `Connection: close\r\nContent-Length: ${bytes.length}\r\n\r\n`;
    const text = await answerTo(daemon, Buffer.concat([Buffer.from(head), bytes]));
    assert.deepEqual(statuses(text), [400], `${name}: ${text}`);
    const answer = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
    assert.equal(answer.jsonrpc, '2.0', name);
    if (code !== undefined) assert.equal(answer.error.code, code, `${name}: ${text}`);
    assert.ok(answer.error.message.length > 0, name);
  }
  await other.stop();
});

test('slow clients end at their deadlines, and say nothing of it to others', async (t) => {
  const daemon = await house(t, { listen: { timeouts: { head: '300ms', body: '300ms', idle: '300ms' } } });
  const other = bystander(daemon);
  const start = `POST /mcp HTTP/1.1\r\n${daemon.host}${TYPE}`;
  const dribble = async (first, more) => {
    const bare = await Bare.open(daemon);
    bare.send(first);
    // Bytes that keep coming do not move the deadline.
    const timer = setInterval(() => bare.send(more), 20);
    bare.socket.on('close', () => clearInterval(timer));
    const text = await within('the end', 15_000, bare.ended);
    clearInterval(timer);
    bare.close();
    return text;
  };
  const late = await Promise.all([dribble('G', 'E'), dribble(start, 'X: y\r\n'),
    dribble(`${start}Content-Length: 5000\r\n\r\n`, 'x'),
    dribble(`${start}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n')]);
  for (const text of late) {
    assert.deepEqual(statuses(text), [408], text);
    assert.match(text, /"code":"http\.request_timeout"/);
    assert.match(text, /listen\.timeouts/);
  }
  const silent = await Bare.open(daemon);
  assert.equal(await within('the end of a silent one', 15_000, silent.ended), '');
  silent.close();
  await other.stop();
});

test('5,000 idle connections leave room for who wants something', async (t) => {
  const daemon = await Daemon.start(t, { log: { level: 'info' }, servers: { s: tiny() } });
  const before = usage(daemon.pid).residentKb;
  const sockets = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  for (let i = 0; i < 5_000; i += 100) {
    sockets.push(...await Promise.all(Array.from({ length: 100 }, async () => {
      const bare = await Bare.open(daemon);
      return bare.socket;
    })));
    if (i % 1_000 === 0) {
      const answer = await modern(daemon.url, 'tools/call', { name: 's__ping', arguments: {} });
      assert.equal(answer.message?.result?.content?.[0]?.text, 'pong', answer.text);
    }
  }
  const other = bystander(daemon);
  await eventually('all are counted', async () => (await daemon.status()).connections >= 3_000);
  const { connections } = await daemon.status();
  assert.ok(connections <= 4_096 + 64, `${connections} connections`);
  const after = usage(daemon.pid).residentKb;
  // Some 12 KiB each.
  assert.ok(after - before < 96 * 1024 || sanitized(), `${before} KiB before, ${after} KiB after`);
  await other.stop();
});
