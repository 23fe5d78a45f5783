// Two results made equal where mcpx is allowed to differ: exposed names and URIs, and the fields
// that belong to the hop. Everything else must be the same JSON.
const HOP_META = /^io\.modelcontextprotocol\//;
const HOP_FIELDS = new Set(['resultType', 'ttlMs', 'cacheScope', 'nextCursor']);

export function stripHop(value) {
  if (Array.isArray(value)) return value.map(stripHop);
  if (value === null || typeof value !== 'object') return value;
  const kept = {};
  for (const [key, member] of Object.entries(value)) {
    if (HOP_FIELDS.has(key) && isHopPlace(key, value)) continue;
    if (key === '_meta') {
      const meta = Object.fromEntries(
        Object.entries(member ?? {}).filter(([k]) => !HOP_META.test(k)));
      if (Object.keys(meta).length) kept._meta = stripHop(meta);
      continue;
    }
    kept[key] = stripHop(member);
  }
  return kept;
}
// Only at the top of a result; a payload that happens to use the word keeps it.
function isHopPlace(key, object) {
  return ['tools', 'prompts', 'resources', 'resourceTemplates', 'content', 'contents', 'messages',
    'completion', 'capabilities'].some((member) => member in object);
}

// `mcpx://server/original` and `ui://mcpx.server/rest` back to what the server said.
export function originalUri(text) {
  return text.replace(/^mcpx:\/\/[^/]+\//, '').replace(/^ui:\/\/mcpx\.[^/]+\//, 'ui://');
}
export function withOriginalUris(value) {
  if (typeof value === 'string') return originalUri(value);
  if (Array.isArray(value)) return value.map(withOriginalUris);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withOriginalUris(v)]));
}

export function exposedName(server, original) { return `${server}__${original}`; }
export function exposedUri(server, original) {
  return original.startsWith('ui://') ? `ui://mcpx.${server}/${original.slice(5)}`
    : `mcpx://${server}/${original}`;
}

// The items of a merged list that belong to `server`, under their own names again.
export function itemsOf(server, items, key) {
  const mine = (text) => (key === 'name' ? text.startsWith(`${server}__`)
    : text.startsWith(`mcpx://${server}/`) || text.startsWith(`ui://mcpx.${server}/`));
  return items.filter((item) => mine(item[key])).map((item) => withOriginalUris(
    key === 'name' ? { ...item, name: item.name.slice(server.length + 2) } : item));
}

// What changes from one run to the next in the servers' own answers (clock times).
export function withoutTimes(value) {
  if (typeof value === 'string') {
    return value
      .replace(/\d{1,2}:\d{2}:\d{2}(\.\d+)?( [AP]M)?/g, '<time>')
      .replace(/\d{4}-\d{2}-\d{2}T<time>Z?/g, '<date>');
  }
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key,
    key === 'blob' && typeof member === 'string'
      ? withoutTimes(Buffer.from(member, 'base64').toString('latin1')) : withoutTimes(member)]));
}

export function comparable(value) {
  return withoutTimes(withOriginalUris(stripHop(JSON.parse(JSON.stringify(value)))));
}
