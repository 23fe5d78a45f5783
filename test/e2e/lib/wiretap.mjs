// What goes over the wire between mcpx and everything this process plays: every byte of every socket
// to a daemon under test, of every connection to a server in this process, and of the standard streams
// of `mcpx connect`. It listens where node hands bytes to and from its sockets, so nothing that is
// tested changes: no proxy, no delay, no other end of a connection. frames.mjs makes messages of it.
import { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import net from 'node:net';
import { Readable } from 'node:stream';

const LIMIT = 256 * 1024 * 1024;  // bytes kept altogether; a soak needs no more of the same
const taps = new WeakMap();      // socket -> tap
const ports = new Map();         // port or `unix:` URL of a daemon -> wire
const ignored = new Set();
const own = new Set();           // ends of our client sockets, "local remote": those are not mcpx
const servers = new Map();       // port of a server here -> its connections, whoever made them
let clock = 0;
let kept = 0;

// Moments are counted, so that what happened can be put in order.
export const moment = () => ++clock;

export class Wire {
  constructor() { this.connections = []; }
}

// Everything to and from that port of 127.0.0.1 from now on; the same wire for a port used again.
export function tap(port) {
  if (!ports.has(port)) ports.set(port, new Wire());
  return ports.get(port);
}
// What `mcpx connect` says to a daemon at that Unix socket goes to its wire too.
export function tapUnix(socket, wire) { ports.set(`unix:${socket}`, wire); }
// The connections to servers in this process, of that moment or later, that were made by no socket of
// this process.
export function accepted(since = 0) {
  return [...servers.values()].flat().filter(
    (c) => c.born >= since && !own.has(`${c.remotePort} ${c.port}`) && !ignored.has(c.port));
}

// Nothing that is said to this port of ours is said by mcpx.
export function ignore(port) { ignored.add(port); }

// A connection: {kind: 'http' | 'lines', port, remotePort, in: [{at, bytes}], out: [...]}, as seen from
// this process.
function connection(kind, extra) {
  return { kind, born: ++clock, in: [], out: [], ...extra };
}
function note(tapped, direction, chunk, encoding) {
  if (chunk === null || chunk === undefined || kept > LIMIT) return;
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk);
  kept += bytes.length;
  tapped[direction].push({ at: ++clock, bytes });
}

function tapOf(socket) {
  const known = taps.get(socket);
  if (known !== undefined) return known;
  // An end of a connection that this process made; whose it is shows once it is connected.
  if (socket.connecting || socket.remotePort === undefined) return null;
  own.add(`${socket.localPort} ${socket.remotePort}`);  // mcpx may use that port towards another
  const wire = ports.get(socket.remotePort);
  let tapped = null;
  if (wire) {
    tapped = connection('http', { port: socket.remotePort });
    wire.connections.push(tapped);
  }
  taps.set(socket, tapped);
  return tapped;
}

const { prototype } = net.Socket;
const push = Readable.prototype.push;
prototype.push = function (chunk, encoding) {
  const tapped = tapOf(this);
  if (tapped) note(tapped, 'in', chunk, encoding);
  return push.call(this, chunk, encoding);
};
const write = prototype._writeGeneric;
prototype._writeGeneric = function (many, data, encoding, done) {
  // Before it is connected a socket comes back with the same data.
  const tapped = this.connecting ? null : tapOf(this);
  if (tapped && many) for (const item of data) note(tapped, 'out', item.chunk, item.encoding);
  else if (tapped) note(tapped, 'out', data, encoding);
  return write.call(this, many, data, encoding, done);
};

const emit = net.Server.prototype.emit ?? EventEmitter.prototype.emit;
net.Server.prototype.emit = function (event, ...args) {
  const [socket] = args;
  if (event === 'connection' && socket instanceof net.Socket && !taps.has(socket)) {
    const { localPort: port, remotePort } = socket;
    const tapped = connection('http', { port, remotePort });
    taps.set(socket, tapped);
    if (!servers.has(port)) servers.set(port, []);
    servers.get(port).push(tapped);
    // node's HTTP server reads past the stream unless the handle looks as if somebody else did.
    if (socket._handle) socket._handle._consumed = true;
  }
  return emit.call(this, event, ...args);
};

const spawn = ChildProcess.prototype.spawn;
ChildProcess.prototype.spawn = function (options) {
  const result = spawn.call(this, options);
  const { args = [], envPairs = [] } = options;
  const at = args.findIndex((a) => /(^|\/)mcpx$/.test(a));
  const bridges = at >= 0 && args[at + 1] === 'connect' && !args.includes('--help');
  if (bridges && this.stdin && this.stdout) {
    const url = args[args.indexOf('--url', at) + 1] ?? '';
    const place = args.includes('--url') ? url : envPairs.find((e) => e.startsWith('MCPX_URL='));
    const [, unix, digits] = /(unix:\/\S+)|:(\d+)/.exec(place ?? '') ?? [];
    const port = unix ?? Number(digits);
    if (port) {
      const tapped = connection('lines', { port });
      tap(port).connections.push(tapped);
      taps.set(this.stdin, tapped);
      taps.set(this.stdout, tapped);
    }
  }
  return result;
};
