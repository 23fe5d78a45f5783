// What has to hold whatever the upstreams do.
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';

import { messagesOf } from '../lib/http.mjs';
import { root } from '../lib/paths.mjs';
import { descendants, usage } from '../lib/processes.mjs';
import { contentOf } from './echo.mjs';

// The codes that docs/errors.md promises: the first column of its tables.
export function documentedCodes() {
  const text = readFileSync(path.join(root, 'docs/errors.md'), 'utf8');
  const codes = new Set();
  for (const line of text.split('\n').filter((l) => l.startsWith('| `'))) {
    for (const [, code] of line.split('|')[1].matchAll(/`([a-z]+\.[a-z_]+)`/g)) codes.add(code);
  }
  return codes;
}
const codes = documentedCodes();

export class Violation extends Error {}
const demand = (holds, what) => { if (!holds) throw new Violation(what); };
const short = (value) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === undefined || text.length < 600 ? text : `${text.slice(0, 400)} ... ${text.slice(-150)}`;
};

// The one response in an answer; undefined when there is none. Everything else in it has to be a
// notification for this request.
export function responseIn(answer, id, progressToken) {
  let found;
  let last = 0;
  for (const text of messagesOf(answer.headers, answer.text)) {
    let message;
    try {
      message = JSON.parse(text);
    } catch (error) {
      throw new Violation(`not JSON (${error.message}): ${short(text)}`);
    }
    if (message.method !== undefined) {
      demand(message.id === undefined && message.method === 'notifications/progress',
        `a message that is not for this caller: ${short(message)}`);
      demand(found === undefined, `a notification after the response: ${short(message)}`);
      demand(message.params.progressToken === progressToken, `another's progress: ${short(message)}`);
      demand(message.params.progress > last, `progress that goes back: ${short(message)}`);
      last = message.params.progress;
      continue;
    }
    demand(found === undefined, `a second response: ${short(found)} and ${short(message)}`);
    demand(message.id === id, `id ${JSON.stringify(id)} was asked, ${short(message)} came`);
    found = message;
  }
  return found;
}

// 'ok', or the code of the failure.
export function judge(call, answer, response) {
  demand(answer.status === 200, `HTTP ${answer.status} for a call: ${short(answer.text)}`);
  demand((response.result === undefined) !== (response.error === undefined),
    `result and error, or neither: ${short(response)}`);
  if (response.result !== undefined) {
    const wanted = contentOf(call.server, call.arguments);
    const { content } = response.result;
    demand(Array.isArray(content) && content.length === wanted.length
      && content.every((block, i) => block.type === 'text' && block.text === wanted[i].text),
    `content of another call: wanted ${short(wanted)}, got ${short(content)}`);
    demand(response.result.isError === undefined, `isError appeared: ${short(response)}`);
    return 'ok';
  }
  const { error } = response;
  if (error.code === 4711) {
    demand(error.data?.nonce === call.arguments.nonce, `another's error: ${short(error)}`);
    return 'its own error';
  }
  const seen = `for ${call.server}: ${short(error)}`;
  demand(typeof error.message === 'string' && error.message.includes(call.server),
    `an error that does not name the server ${seen}`);
  demand(codes.has(error.data?.code), `a code that docs/errors.md does not have ${seen}`);
  demand(error.data.server === call.server, `another server is to blame ${seen}`);
  demand(typeof error.data.remedy === 'string' && error.data.remedy !== '', `no remedy ${seen}`);
  return error.data.code;
}

// A call that was carried out twice: retries are only for what was not sent.
export function executedTwice(dir, servers) {
  const twice = [];
  for (const { name } of servers) {
    const seen = new Set();
    for (const nonce of readFileSync(path.join(dir, `${name}.executed`), 'utf8').split('\n')) {
      if (nonce !== '' && seen.has(nonce)) twice.push(`${name}: ${nonce}`);
      seen.add(nonce);
    }
  }
  return twice;
}

// --- Resources

// Remote port of every TCP socket of this machine, by inode.
function sockets() {
  const found = new Map();
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    if (fields.length < 10) continue;
    const port = (address) => Number.parseInt(address.split(':')[1], 16);
    found.set(fields[9], { local: port(fields[1]), remote: port(fields[2]), state: fields[3] });
  }
  return found;
}

// How many descriptors of which kind; `upstream` are connections to the ports given, kept alive on
// purpose and closed a minute after their last use.
export function descriptorKinds(pid, upstreamPorts) {
  const tcp = sockets();
  const kinds = {};
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    let target;
    try {
      target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      continue;  // closed meanwhile
    }
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    let kind = target.replace(/\[?\d+\]?$/, '');
    if (inode !== undefined) {
      const socket = tcp.get(inode);
      kind = !socket ? 'socket' : socket.state === '0A' ? 'listening'
        : upstreamPorts.has(socket.remote) ? 'upstream' : 'client';
    }
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
}

export function resources(daemon, upstreamPorts) {
  const kinds = descriptorKinds(daemon.pid, upstreamPorts);
  const { upstream = 0, ...rest } = kinds;
  const { threads, residentKb } = usage(daemon.pid);
  return { descriptors: rest, upstream, threads, residentKb,
    children: descendants(daemon.pid).map((p) => p.command).sort() };
}
