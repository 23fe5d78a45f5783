// exact.mjs over the HTTP transport of its revision: HTTP+SSE for 2024-11-05, Streamable HTTP since.
import { Exact } from './exact.mjs';
import { ScriptedHttpServer } from './scripted_http_server.mjs';

const METHODS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'tools/call',
  'prompts/get', 'resources/read', 'completion/complete', 'logging/setLevel', 'server/discover'];

export async function exactHttp(t, revision, name) {
  const exact = new Exact(revision, name);
  const era = exact.modern ? 'modern' : revision === '2024-11-05' ? 'http+sse' : 'legacy';
  const server = await ScriptedHttpServer.start(t, { era, version: revision,
    capabilities: exact.capabilities(), serverInfo: exact.info });
  exact.push = (message) => server.push(message);
  server.on('notifications/cancelled', (exchange) => {
    exact.cancelled(exchange.message.params.requestId);
    return exchange.reply({ status: 202 });
  });
  for (const method of METHODS) server.on(method, (exchange) => serve(exact, server, exchange));
  return { exact, url: server.url };
}

async function serve(exact, server, exchange) {
  const { message } = exchange;
  const known = server.known.get(new URLSearchParams(exchange.request.target.split('?')[1]).get('sessionId'));
  let send;
  let end = () => {};
  if (known?.stream) {
    await exchange.reply({ status: 202, body: 'Accepted' });
    void finish(exact, exchange, (m) => known.stream.send(m), end);  // the connection is free again
    return undefined;
  }
  if (message.method === 'tools/call') {
    const stream = await exchange.stream();
    send = (m) => stream.send(m);
    end = () => stream.end();
    // Since 2026-07-28 that is how a request is cancelled.
    if (exact.modern) exchange.connection.gone.then(() => exact.cancelled(message.id));
  }
  return finish(exact, exchange, send, end);
}

async function finish(exact, exchange, send, end) {
  const { message } = exchange;
  const result = await exact.answer(message, send);
  if (result !== undefined && send) {
    await send({ jsonrpc: '2.0', id: message.id, ...(result.error ? { error: result.error } : { result }) });
  }
  if (send) return end();
  return result.error ? exchange.error(result.error) : exchange.result(result);
}
