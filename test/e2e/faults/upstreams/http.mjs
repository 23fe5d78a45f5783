// An HTTP upstream of the fault harness. Usage: node http.mjs '{"name","era","wire","dir","port"}', with an
// IPC channel: {listen: false | true} closes and opens the listener, {forget: true} drops the sessions,
// {drop: true} the streams without a request, {closeIdle: true} connections nobody uses.
//
// With the wire `sse` the answers take the way that sse.mjs knows. A call's `fault` argument says how it is to go wrong (faults.mjs lists them); `sse` asks for an
// event stream. Forgetting is refusing: a call of an unknown session is not carried out.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

import { EchoServer, frame, ownError, progress } from './mcp.mjs';
import { SseWire } from './sse.mjs';

const { name, era, wire, dir, port } = JSON.parse(process.argv[2]);
const echo = new EchoServer({ name, era, dir });
const sessions = new Set();
const streams = new Set();  // open answers to GET
const sse = wire === 'sse' ? new SseWire(echo, streams) : undefined;
const JSON_HEAD = { 'content-type': 'application/json' };
const SSE_HEAD = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };
const event = (text) => `event: message\ndata: ${text}\n\n`;

// `raw` writes past node's framing, for answers that no HTTP library would make.
function raw(response, head, body) {
  const lines = ['HTTP/1.1 200 OK', 'content-type: application/json', ...head, '', ''].join('\r\n');
  response.socket.write(lines);
  response.socket.write(body);
}
const first = (text) => text.slice(0, Math.max(1, text.length >> 1));

const faults = {
  'exit': () => process.exit(7),
  'reset before head': ({ response }) => response.socket.resetAndDestroy(),
  'reset mid-body': ({ response, line }) => {
    raw(response, [`content-length: ${Buffer.byteLength(line)}`], first(line));
    setTimeout(() => response.socket?.resetAndDestroy(), 20);
  },
  'stall after head': ({ response, line }) => raw(response, [`content-length: ${Buffer.byteLength(line)}`], ''),
  'stall before head': () => {},
  'late': async ({ response, line, args }) => {
    await pause(args.wait);
    response.writeHead(200, JSON_HEAD).end(line);
  },
  'truncated chunk': ({ response, line }) => {
    raw(response, ['transfer-encoding: chunked'], `${(line.length * 2).toString(16)}\r\n${first(line)}`);
    response.socket.end();
  },
  'bad chunk': ({ response, line }) => {
    raw(response, ['transfer-encoding: chunked'], `zz\r\n${line}\r\n0\r\n\r\n`);
  },
  'length too large': ({ response, line }) => {
    raw(response, [`content-length: ${Buffer.byteLength(line) + 10}`], line);
    response.socket.end();
  },
  'length too small': ({ response, line }) => raw(
    response, [`content-length: ${Buffer.byteLength(line) - 10}`], line),
  'status 500': ({ response }) => response.writeHead(500, { 'content-type': 'text/plain' }).end('boom'),
  'status 503': ({ response }) => response.writeHead(503, { 'retry-after': '1' }).end(),
  'status 202': ({ response }) => response.writeHead(202).end(),
  'html': ({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>welcome</p>'),
  'garbage': ({ response, line }) => response.writeHead(200, JSON_HEAD).end(first(line)),
  'corrupt': ({ response, line }) => response.writeHead(200, JSON_HEAD).end(
    Buffer.concat([Buffer.from(first(line)), Buffer.from([0, 0xff, 0xc3, 0x28])])),
  'wrong id': ({ response, id, answer }) => response.writeHead(200, JSON_HEAD).end(frame(`not ${id}`, answer)),
  'error': ({ response, id, args }) => response.writeHead(200, JSON_HEAD).end(frame(id, ownError(args.nonce))),
  'sse cut': ({ response }) => { response.writeHead(200, SSE_HEAD); response.end(': soon\n\n'); },
  'sse reset': ({ response, line }) => {
    response.writeHead(200, SSE_HEAD);
    response.write(event(line).slice(0, 40));
    setTimeout(() => response.socket?.resetAndDestroy(), 20);
  },
  'sse twice': ({ response, line }) => {
    response.writeHead(200, SSE_HEAD);
    response.end(event(line) + event(line));
  },
  'sse garbage': ({ response, line }) => {
    response.writeHead(200, SSE_HEAD);
    response.end(event('{"half":') + event('not json') + event(line));
  },
  'sse never': ({ response }) => { response.writeHead(200, SSE_HEAD); response.write(': soon\n\n'); },
};

// How a server without the session may say so (case C20).
const refusals = [
  (response) => response.writeHead(404).end(),
  (response, id) => response.writeHead(404, JSON_HEAD).end(
    frame(id, { error: { code: -32001, message: 'Session not found' } })),
];
let refused = 0;

async function call(response, { id, params, answer }) {
  const args = params.arguments;
  const line = frame(id, answer);
  if (args.fault) return faults[args.fault]({ response, id, line, answer, args });
  const token = params._meta?.progressToken;
  if (args.sse || token !== undefined) {
    response.writeHead(200, SSE_HEAD);
    if (token !== undefined) for (const done of [1, 2]) response.write(event(progress(token, done)));
    if (args.wait) await pause(args.wait);
    return response.end(event(line));
  }
  if (args.wait) await pause(args.wait);
  response.writeHead(200, JSON_HEAD).end(line);
}

async function serve(request, response) {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) text += chunk;
  echo.heard(text);
  if (sse) return sse.serve(request, response, text);
  const session = request.headers['mcp-session-id'];
  if (request.method === 'DELETE') {
    sessions.delete(session);
    return response.writeHead(204).end();
  }
  if (request.method === 'GET' && sessions.has(session)) {
    streams.add(response);
    response.on('close', () => streams.delete(response));
    return response.writeHead(200, SSE_HEAD).write(': open\n\n');
  }
  if (request.method === 'GET' && era === 'legacy') return refusals[refused++ % refusals.length](response, null);
  if (request.method !== 'POST') return response.writeHead(405, { allow: 'POST, DELETE' }).end();
  const { id, method, params } = JSON.parse(text);
  if (era === 'legacy' && method !== 'initialize' && method !== 'server/discover'
      && !sessions.has(session)) {
    return refusals[refused++ % refusals.length](response, id ?? null);
  }
  if (id === undefined) return response.writeHead(202).end();
  if (method === 'initialize' && era === 'legacy') {
    const opened = randomUUID();
    sessions.add(opened);
    response.setHeader('mcp-session-id', opened);
  }
  if (method === 'tools/call' && params.arguments.fault === 'forget sessions') {
    sessions.clear();
    // A modern server has no sessions: a JSON-RPC error would be its own answer to the call, and go to
    // the caller as it is.
    return refusals[era === 'legacy' ? refused++ % refusals.length : 0](response, id);
  }
  const answer = echo.answer(method, params);
  if (method === 'tools/call') return call(response, { id, params, answer });
  const status = answer.error ? 400 : 200;  // an era that is not spoken here
  response.writeHead(status, JSON_HEAD).end(frame(id, answer));
}

let server;
function listen() {
  server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
    response.on('error', () => {});
    serve(request, response).catch(() => response.destroy());  // the peer left while it was read
  });
  server.on('clientError', (_, socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
}
await listen();
process.on('message', async (order) => {
  if (order.forget) sessions.clear();
  if (order.drop) for (const stream of streams) stream.destroy();
  if (order.listen === false) { server.close(); server.closeAllConnections(); }
  if (order.listen === true && !server.listening) { sessions.clear(); await listen(); }
  if (order.closeIdle) server.closeIdleConnections();
  process.send({ done: order });
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
