// A stdio upstream of the fault harness. Usage: node stdio.mjs '{"name","era","dir"}'
//
// A call's `fault` argument says how it is to go wrong (faults.mjs lists them), and a file
// NAME.start in `dir`, used up when read, how the start is to.
import { appendFileSync, closeSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { EchoServer, frame, ownError, progress } from './mcp.mjs';

const { name, era, dir } = JSON.parse(process.argv[2]);
const server = new EchoServer({ name, era, dir });

// Synchronous, whatever the pipe's size: an exit must not lose what was written before it.
function writeAll(fd, data) {
  const bytes = Buffer.from(data);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (error.code === 'EPIPE' || error.code === 'EBADF') return;
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
const say = (line) => writeAll(1, `${line}\n`);
const half = (text) => text.slice(0, text.length >> 1);

function startFault() {
  const file = path.join(dir, `${name}.start`);
  try {
    const fault = readFileSync(file, 'utf8');
    rmSync(file);
    return fault;
  } catch {
    return '';
  }
}

const faults = {
  'exit': () => process.exit(7),
  'exit mid-frame': (line) => { writeAll(1, half(line)); process.exit(8); },
  'close stdout': () => closeSync(1),
  'never': () => {},
  'late': async (line, { wait }) => { await pause(wait); say(line); },
  'truncated': (line) => say(half(line)),
  'glued': (line) => writeAll(1, half(line)),  // the next answer ends up on the same line
  'corrupt': (line) => writeAll(1, Buffer.concat([Buffer.from(half(line)),
    Buffer.from([0, 0xff, 0xc3, 0x28, 0x1b]), Buffer.from(`${line.slice(line.length >> 1)}\n`)])),
  'garbage': (line) => { say('warming up...'); say(''); say('{"half":'); writeAll(1, Buffer.from([0, 0x80, 10])); say(line); },
  'wrong id': (_, { id, answer }) => say(frame(id + 1_000_000_000, answer)),
  'text id': (_, { id, answer }) => say(frame(`${id}`, answer)),
  'null id': (_, { answer }) => say(frame(null, answer)),
  'twice': (line) => { say(line); say(line); },
  'both members': (_, { id, answer }) => say(frame(id, { ...answer, error: { code: 1, message: 'x' } })),
  'error': (_, { id, args }) => say(frame(id, ownError(args.nonce))),
  'huge stderr': (line) => { writeAll(2, `${'e'.repeat(200)}\n`.repeat(5_000)); say(line); },
  'deaf': async (line, { wait }) => { process.stdin.pause(); say(line); await pause(wait); process.stdin.resume(); },
  'too large': (_, { id }) => say(frame(id, { result: { content: [{ type: 'text', text: 'x'.repeat(3 << 20) }] } })),
};

const start = startFault();
let listed = 0;
async function serve({ id, method, params }) {
  if (start === 'mute') return;
  if (start === 'exit in handshake' && method !== 'server/discover') process.exit(9);
  if (start === 'list fails' && method === 'tools/list' && listed++ === 0) {
    return say(frame(id, { error: { code: -32603, message: 'not yet' } }));
  }
  const answer = server.answer(method, params);
  const line = frame(id, answer);
  if (method !== 'tools/call') return say(line);
  const args = params.arguments;
  const token = params._meta?.progressToken;
  if (token !== undefined) for (const done of [1, 2]) say(progress(token, done));
  if (args.fault) return faults[args.fault](line, { id, answer, args, wait: args.wait });
  if (args.wait) await pause(args.wait);
  say(line);
}

appendFileSync(path.join(dir, `${name}.pids`), `${process.pid}\n`);
if (start === 'exit') process.exit(6);
if (start === 'garbage') for (let i = 0; i < 100; i++) say(`banner line ${i} {"jsonrpc":`);

let pending = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  pending += chunk;
  const lines = pending.split('\n');
  pending = lines.pop();
  for (const line of lines) {
    server.heard(line);
    const message = JSON.parse(line);
    if (message.method !== undefined && message.id !== undefined) serve(message);
  }
});
process.stdin.on('end', () => process.exit(0));
