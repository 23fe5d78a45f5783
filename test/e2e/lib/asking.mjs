// What tests about questions share: the server that asks (asking_server.mjs), the answers, and a
// modern client that gives them.
import path from 'node:path';

import { libDir } from './paths.mjs';
import { modern } from './speak.mjs';

const program = path.join(libDir, 'asking_server.mjs');
export const stdio = (era, extra) => ({ command: process.execPath, args: [program, era], ...extra });
export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

export const ANSWERS = {
  form: { action: 'accept', content: { name: 'Ada' } },
  url: { action: 'accept' },
  sampling: { role: 'assistant', content: { type: 'text', text: 'Hello' }, model: 'm' },
  tools: { role: 'assistant', content: { type: 'text', text: 'No tool' }, model: 'm' },
  roots: { roots: [{ uri: 'file:///srv/a', name: 'a' }] },
};
export const ALL = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };
// What the server is told: an accepted form has its defaults.
export const expected = (kind) => (kind === 'form'
  ? { action: 'accept', content: { name: 'Ada', colour: 'red' } } : ANSWERS[kind]);
export const kindOf = ({ method, params = {} }) => (method === 'roots/list' ? 'roots'
  : method === 'sampling/createMessage' ? (params.tools ? 'tools' : 'sampling')
    : params.mode === 'url' ? 'url' : 'form');
export const said = (result) => JSON.parse(result.content[0].text);

export function modernCaller(daemon, capabilities, endpoint = '/mcp') {
  const seen = [];
  async function call(name, args) {
    let more = {};
    for (let round = 0; round < 10; round++) {
      const { message } = await modern(daemon.url, 'tools/call', { name, arguments: args, ...more },
        { endpoint, meta: { [CAPABILITIES]: capabilities }, id: round });
      if (message.result?.resultType !== 'input_required') return message;
      const { inputRequests, requestState } = message.result;
      seen.push(...Object.values(inputRequests));
      const answers = Object.entries(inputRequests).map(([key, q]) => [key, ANSWERS[kindOf(q)]]);
      more = { inputResponses: Object.fromEntries(answers), ...(requestState && { requestState }) };
    }
    throw new Error('no end of rounds');
  }
  return { seen, call };
}
