// What every client is asked to do with the three reference servers. `who` keeps the entities and
// files of one client apart from another's, so that each run sees a fresh world.
import path from 'node:path';

import { upstreams } from './paths.mjs';

export function serversIn(dir, nodeBinary = process.execPath) {
  return {
    everything: { command: nodeBinary, args: [upstreams.everything, 'stdio'] },
    filesystem: { command: nodeBinary, args: [upstreams.filesystem, path.join(dir, 'files')] },
    memory: { command: nodeBinary, args: [upstreams.memory],
      env: { MEMORY_FILE_PATH: path.join(dir, 'memory.jsonl') } },
  };
}

export function planFor(dir, who) {
  const files = path.join(dir, 'files');
  const everything = [
    { tool: 'echo', arguments: { message: 'h\u00e9llo \u2603 \ud83d\ude00 "quoted"\n' } },
    { tool: 'get-sum', arguments: { a: 1.5, b: 40 } },
    { tool: 'get-annotated-message', arguments: { messageType: 'error', includeImage: true } },
    { tool: 'get-structured-content', arguments: { location: 'Chicago' } },
    { tool: 'get-tiny-image', arguments: {} },
    { tool: 'get-resource-links', arguments: { count: 4 } },
    { tool: 'get-resource-reference', arguments: { resourceType: 'Text', resourceId: 3 } },
    { tool: 'get-sum', arguments: { a: 'not a number' } },
    { tool: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 }, progress: true },
    { read: 'demo://resource/dynamic/text/7' },
    { read: 'demo://resource/dynamic/blob/8' },
    { read: 'demo://resource/static/document/features.md' },
    { prompt: 'simple-prompt' },
    { prompt: 'args-prompt', arguments: { city: 'Oslo', state: 'none' } },
    { prompt: 'resource-prompt', arguments: { resourceType: 'Text', resourceId: '2' } },
    { complete: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' } },
    { complete: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'name', value: '' }, context: { arguments: { department: 'Sales' } } },
    { complete: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
      argument: { name: 'resourceId', value: '12' } },
  ];
  const filesystem = [
    { tool: 'list_allowed_directories', arguments: {} },
    { tool: 'write_file', arguments: { path: path.join(files, `${who}.txt`), content: 'line 1\n' } },
    { tool: 'read_text_file', arguments: { path: path.join(files, `${who}.txt`) } },
    { tool: 'read_text_file', arguments: { path: '/etc/passwd' } },
    { tool: 'get_file_info', arguments: { path: path.join(files, 'fixed') } },
  ];
  const memory = [
    { tool: 'create_entities', arguments: { entities: [
      { name: who, entityType: 'client', observations: ['counts', 'to two'] }] } },
    { tool: 'open_nodes', arguments: { names: [who] } },
    { tool: 'delete_entities', arguments: { entityNames: [who] } },
  ];
  const of = (server, steps) => steps.map((step) => ({ server, ...step }));
  return [...of('everything', everything), ...of('filesystem', filesystem), ...of('memory', memory)];
}

// For the Inspector CLI, which starts a process per request.
export function shortPlanFor(dir, who) {
  const wanted = ['echo', 'get-structured-content', 'demo://resource/dynamic/text/7', 'args-prompt',
    'read_text_file', 'open_nodes'];
  const seen = new Set();
  return planFor(dir, who).filter((step) => {
    const key = step.tool ?? step.read ?? step.prompt;
    if (!wanted.includes(key) || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
