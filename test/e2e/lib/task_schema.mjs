// What the extension of tasks adds to 2026-07-28 (SEP-2663), as definitions beside those of the schema,
// which has none of it.
const status = { type: 'string',
  enum: ['working', 'input_required', 'completed', 'failed', 'cancelled'] };
const meta = { _meta: { type: 'object' } };
const task = { taskId: { type: 'string', minLength: 1 }, status, statusMessage: { type: 'string' },
  createdAt: { type: 'string', format: 'date-time' }, lastUpdatedAt: { type: 'string', format: 'date-time' },
  ttlMs: { type: ['integer', 'null'] }, pollIntervalMs: { type: 'integer' } };
const required = ['taskId', 'status', 'createdAt', 'lastUpdatedAt', 'ttlMs'];
// What each status has besides, and no other.
const INLINED = { completed: 'result', failed: 'error', input_required: 'inputRequests' };
const detailed = { ...task, result: { type: 'object' }, error: { type: 'object', required: ['code', 'message'] },
  inputRequests: { $ref: '#/$defs/InputRequests' } };
const oneStatus = Object.entries(INLINED).map(([name, member]) => ({
  if: { properties: { status: { const: name } } }, then: { required: [member] },
  else: { not: { required: [member] } } }));

const object = (properties, more = []) => ({ type: 'object', properties, required: more });
const request = (method, params, needs) => ({ type: 'object', required: ['method', 'params'],
  properties: { method: { const: method, type: 'string' }, id: {}, jsonrpc: {},
    params: object({ ...meta, ...params }, needs) } });
const result = (resultType, properties, needs = []) => object(
  { ...meta, resultType: { const: resultType, type: 'string' }, ...properties }, ['resultType', ...needs]);

export const TASK_DEFINITIONS = {
  GetTaskRequest: request('tasks/get', { taskId: task.taskId }, ['taskId', '_meta']),
  UpdateTaskRequest: request('tasks/update', { taskId: task.taskId, inputResponses: { type: 'object' } },
    ['taskId', 'inputResponses', '_meta']),
  CancelTaskRequest: request('tasks/cancel', { taskId: task.taskId }, ['taskId', '_meta']),
  CreateTaskResult: result('task', task, required),
  GetTaskResult: { ...result('complete', detailed, required), allOf: oneStatus },
  UpdateTaskResult: result('complete', {}),
  CancelTaskResult: result('complete', {}),
  TaskStatusNotification: { ...request('notifications/tasks', detailed, required) },
};
