// A fake HTTP upstream inside the test process: legacy Streamable HTTP with plain JSON answers.
// Everything it received is in `requests`: {method, headers, text}.
import http from 'node:http';

export class HttpUpstream {
  static async start(t, { tools = [{ name: 'echo', inputSchema: { type: 'object' } }] } = {}) {
    const upstream = new HttpUpstream();
    upstream.tools = tools;
    upstream.requests = [];
    upstream.server = http.createServer((q, s) => upstream.#serve(q, s));
    await new Promise((resolve) => upstream.server.listen(0, '127.0.0.1', resolve));
    upstream.url = `http://127.0.0.1:${upstream.server.address().port}/mcp`;
    t.after(() => { upstream.server.closeAllConnections(); upstream.server.close(); });
    return upstream;
  }

  async #serve(request, response) {
    let text = '';
    for await (const chunk of request) text += chunk;
    this.requests.push({ method: request.method, url: request.url, headers: request.headers, text });
    if (request.method !== 'POST') return response.writeHead(405).end();
    const message = JSON.parse(text);
    if (message.id === undefined) return response.writeHead(202).end();
    const result = this.#result(message);
    const body = JSON.stringify({ jsonrpc: '2.0', id: message.id,
      ...(result ? { result } : { error: { code: -32601, message: 'Method not found' } }) });
    response.writeHead(200, { 'content-type': 'application/json',
      ...(message.method === 'initialize' ? { 'mcp-session-id': 'upstream-session-1' } : {}) });
    response.end(body);
  }

  #result({ method, params }) {
    switch (method) {
      case 'initialize': return { protocolVersion: params.protocolVersion,
        capabilities: { tools: {} }, serverInfo: { name: 'http-fake', version: '1' } };
      case 'tools/list': return { tools: this.tools };
      case 'tools/call': return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
      case 'ping': return {};
      default: return null;
    }
  }
}
