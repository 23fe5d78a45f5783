// From the bytes of wiretap.mjs to frames as schema.mjs checks them: {text, from, revision, channel,
// status}. HTTP is read by hand and without complaint: of a connection on which something is no HTTP,
// which tests send on purpose, what came before it counts.
import { events } from './http.mjs';
import { REVISIONS } from './schema.mjs';

const MODERN = '2026-07-28';
const MODERN_KEY = 'io.modelcontextprotocol/protocolVersion';
const NEWEST_LEGACY = '2025-11-25';
const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

// Bytes as they came, each with the moment of its last part.
class Bytes {
  constructor(parts) {
    this.whole = Buffer.concat(parts.map((p) => p.bytes));
    this.marks = [];
    let end = 0;
    for (const { at, bytes } of parts) this.marks.push({ at, end: end += bytes.length });
    this.position = 0;
  }
  get done() { return this.position >= this.whole.length; }
  moment(position) {
    return this.marks.find((m) => m.end >= position)?.at ?? Infinity;
  }
  // Up to and without `mark`; null when it does not come.
  through(mark) {
    const at = this.whole.indexOf(mark, this.position);
    if (at < 0) return null;
    const text = this.whole.toString('latin1', this.position, at);
    this.position = at + mark.length;
    return text;
  }
  take(count) {
    const part = this.whole.subarray(this.position, this.position + count);
    this.position += part.length;
    return part;
  }
}

// The next message of one direction: {first, headers, pieces: [{at, bytes}], at}, or null.
function nextMessage(bytes, { response, bodiless } = {}) {
  const at = bytes.moment(bytes.position + 1);
  const head = bytes.through('\r\n\r\n');
  if (head === null) return null;
  const [first, ...lines] = head.split('\r\n');
  if (!(response ? /^HTTP\/1\.1 \d{3}/ : /^[A-Z]+ \S+ HTTP\/1\.1$/).test(first)) return null;
  const headers = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const status = response ? Number(first.slice(9, 12)) : undefined;
  const pieces = [];
  let whole = true;  // half a message, where one side was killed, is no frame
  const note = (part) => { if (part.length) pieces.push({ at: bytes.moment(bytes.position), bytes: part }); };
  if (response && (bodiless || status < 200 || status === 204 || status === 304)) {
    // nothing follows
  } else if (headers['transfer-encoding'] === 'chunked') {
    for (;;) {
      const size = Number.parseInt(bytes.through('\r\n') ?? '', 16);
      if (!(size > 0)) {
        whole = size === 0;
        bytes.through('\r\n');
        break;
      }
      note(bytes.take(size));
      bytes.take(2);
    }
  } else if (headers['content-length'] !== undefined) {
    const length = Number(headers['content-length']);
    note(bytes.take(length));
    whole = pieces.length === 0 ? length === 0 : pieces[0].bytes.length === length;
  } else if (response) {
    note(bytes.take(bytes.whole.length));
  }
  return { first, headers, status, pieces, whole, at };
}

// The exchanges of one connection, requests paired with answers in order.
function* exchanges({ requests, answers }) {
  const asked = new Bytes(requests);
  const said = new Bytes(answers);
  for (let request; (request = nextMessage(asked)) !== null;) {
    const bodiless = request.first.startsWith('HEAD ');
    let response = nextMessage(said, { response: true, bodiless });
    while (response && response.status < 200) response = nextMessage(said, { response: true, bodiless });
    yield { request, response };
    if (!response) break;
  }
}

// The texts of a body with their moments; of an event stream one for each event.
function texts({ headers, pieces, whole }) {
  if (headers['content-encoding'] && headers['content-encoding'] !== 'identity') return [];
  if (!(headers['content-type'] ?? '').startsWith('text/event-stream')) {
    const text = Buffer.concat(pieces.map((p) => p.bytes)).toString('utf8');
    return !whole || text.trim() === '' ? [] : [{ at: pieces.at(-1).at, text }];
  }
  const found = [];
  const decoder = new TextDecoder();
  let pending = '';
  for (const { at, bytes } of pieces) {
    pending += decoder.decode(bytes, { stream: true });
    for (let match; (match = /\r\n\r\n|\n\n|\r\r/.exec(pending));) {
      const block = pending.slice(0, match.index);
      pending = pending.slice(match.index + match[0].length);
      for (const { event, data } of events(block)) {
        if (data !== '') found.push({ at, text: data, endpoint: event === 'endpoint' });
      }
    }
  }
  return found;
}

// Frames over HTTP. `mcpx` is 'server' for what clients here got from the daemon, 'client' for what
// servers here got from it.
export function httpFrames(connections, mcpx) {
  const entries = [];
  let count = 0;
  for (const { in: came, out: went } of connections) {
    const asClient = mcpx === 'server';
    const streams = { requests: asClient ? went : came, answers: asClient ? came : went };
    for (const { request, response } of exchanges(streams)) {
      const [method, target] = request.first.split(' ');
      if (asClient && target.startsWith('/v1/')) continue;  // speaks no JSON-RPC, but uses its words
      const common = { number: ++count, method, target, headers: request.headers,
        sid: request.headers['mcp-session-id'] ?? response?.headers['mcp-session-id'] };
      for (const piece of texts(request)) entries.push({ ...common, ...piece, asks: true });
      for (const piece of response ? texts(response) : []) {
        entries.push({ ...common, ...piece, asks: false, status: response.status });
      }
    }
  }
  entries.sort((a, b) => a.at - b.at);
  return named(entries, mcpx);
}

// Of sessions with daemons: one may go on with the next daemon.
const kept = new Map();

// Each entry's revision and channel. A session is a channel, as its answers may come on any stream; a
// modern exchange is one of its own.
function named(entries, mcpx) {
  const here = new Map();
  const offered = new Map();    // by channels of HTTP+SSE: where to post
  const ofExchange = new Map();
  const frames = [];
  for (const entry of entries) {
    const { text, asks, headers, number } = entry;
    if (entry.endpoint) {
      offered.set(new URL(text, 'http://x').pathname + new URL(text, 'http://x').search, `sse ${number}`);
      continue;
    }
    const message = parsed(text);
    if (message === null && !asks && entry.status >= 400) continue;  // words for people
    if (message !== null && !isRpc(message)) continue;
    const sse = offered.get(entry.target) ?? (offered.size && entry.method === 'GET' && !entry.sid
      ? `sse ${number}` : undefined);
    const channel = entry.sid ?? sse ?? `exchange ${number}`;
    const revisions = entry.sid && mcpx === 'server' ? kept : here;
    const modern = MODERN_KEY in (message?.params?._meta ?? {});
    if (asks && message?.method === 'initialize') {
      ofExchange.set(number, asksFor(message, mcpx));
    } else if (asks && modern && !entry.headers['mcp-session-id']) {
      ofExchange.set(number, MODERN);  // whatever version it names: the answer is one of that era
    }
    const answered = message?.result?.protocolVersion;
    if (answered && !asks) {
      revisions.set(channel, answered);
      ofExchange.set(number, answered);
    }
    const header = REVISIONS.includes(headers['mcp-protocol-version'])
      ? headers['mcp-protocol-version'] : undefined;
    const revision = ofExchange.get(number) ?? revisions.get(channel) ?? header ?? NEWEST_LEGACY;
    const byMcpx = asks === (mcpx === 'client');
    frames.push({ text, from: byMcpx ? 'mcpx' : 'peer', revision, channel, status: entry.status });
  }
  return frames;
}
// What a client asks for may be no revision at all; what is said before the answer is in the newest.
function asksFor(message, mcpx) {
  const asked = message.params?.protocolVersion;
  return mcpx === 'client' && REVISIONS.includes(asked) ? asked : NEWEST_LEGACY;
}
const isRpc = (message) => (Array.isArray(message) ? message.every(isRpc)
  : message !== null && typeof message === 'object' && ('jsonrpc' in message || 'method' in message));

// Frames over a pair of standard streams: `in` is what mcpx wrote, `out` what the client here did.
export function lineFrames({ in: came, out: went }, name) {
  const lines = [];
  for (const [from, parts] of [['mcpx', came], ['peer', went]]) {
    const bytes = new Bytes(parts);
    while (!bytes.done) {
      const start = bytes.position;
      if (bytes.through('\n') === null) break;
      const text = bytes.whole.toString('utf8', start, bytes.position - 1);
      lines.push({ at: bytes.moment(bytes.position), from, text });
    }
  }
  lines.sort((a, b) => a.at - b.at);
  return conversation(lines, name);
}

// What a tee beside a stdio server saw.
export const teeFrames = (lines, channel) => conversation(lines.filter((l) => !l.cut)
  .map(({ from, text }) => ({ from: from === 'mcpx' ? 'mcpx' : 'peer', text })), channel);

// Lines in order, {from, text}: the revision follows what is said.
export function conversation(lines, channel, initial = NEWEST_LEGACY) {
  let revision = initial;
  const modern = new Set();  // ids of requests that say so
  return lines.filter(({ text }) => text.trim() !== '').map(({ from, text }) => {
    const message = parsed(text);
    let now = revision;
    if (MODERN_KEY in (message?.params?._meta ?? {})) {
      now = MODERN;
      modern.add(JSON.stringify(message.id));
    } else if (message?.result?.protocolVersion) {
      now = revision = message.result.protocolVersion;
    } else if (message && !message.method && modern.has(JSON.stringify(message.id))) {
      now = MODERN;
    } else if (message?.params?._meta && 'io.modelcontextprotocol/subscriptionId' in message.params._meta) {
      now = MODERN;
    }
    return { text, from, revision: now, channel };
  });
}
