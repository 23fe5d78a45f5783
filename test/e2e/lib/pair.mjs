// A daemon with one server over HTTP behind it, scripted in this process, and calls through the two.
import { Daemon } from './daemon.mjs';
import { ScriptedHttpServer } from './scripted_http_server.mjs';
import { modern } from './speak.mjs';

export const TOOL = { name: 'x', inputSchema: { type: 'object' } };
export const text = (answer) => answer.message?.result?.content?.[0]?.text;

// `script` are the options of the server, `server` its further settings, `config` those of the daemon.
export async function pair(t, script = {}, server = {}, config = {}, options = {}) {
  const upstream = await ScriptedHttpServer.start(t, { tools: [TOOL], ...script });
  const daemon = await Daemon.start(t, { ...config,
    servers: { web: { url: upstream.url, ...server }, ...config.servers } }, options);
  return { upstream, daemon };
}

// Calls a tool of the server as a modern client.
export const call = (daemon, args = {}, { name = 'x', ...options } = {}) =>
  modern(daemon.url, 'tools/call', { name, arguments: args }, { endpoint: '/mcp/web', ...options });
