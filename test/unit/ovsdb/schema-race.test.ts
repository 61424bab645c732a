import { expect, test } from 'vitest';
import { OvsdbClient, type JsonValue } from 'ovsdb-client-ts';
import { scriptedTransport } from 'ovsdb-client-ts/testing';

const uuid = '00000000-0000-4000-8000-000000000001';
const schema = (...columns: readonly string[]): JsonValue => ({
  name: 'Small',
  version: '1.0.0',
  tables: {
    T: { columns: Object.fromEntries(columns.map((name) => [name, { type: 'string' }])) },
  },
});

/** A server whose database loses column `b` when `convert` is called; it tells nobody. */
function server() {
  let columns = ['a', 'b'];
  const asked: string[] = [];
  return {
    asked,
    convert() {
      columns = ['a'];
    },
    /** Called when the schema was asked for, before anything else is. */
    afterSchema: (): void => undefined,
    message({ id, method, params }: { [member: string]: JsonValue }): JsonValue | undefined {
      if (typeof method !== 'string' || id === undefined || id === null) return undefined;
      asked.push(method);
      if (method === 'get_schema') {
        const result = schema(...columns);
        this.afterSchema();
        return { id, result, error: null };
      }
      if (method !== 'monitor_cond_since') return { id, result: null, error: 'unknown method' };
      const [, , requests] = params as unknown as [string, string, { T: [{ columns: string[] }] }];
      const stranger = requests.T[0].columns.find((name) => !columns.includes(name));
      if (stranger !== undefined) {
        const details = `${stranger} is not a valid column name`;
        return { id, error: { error: 'syntax error', details }, result: null };
      }
      return { id, result: [false, uuid, { T: { [uuid]: { initial: { a: 'x' } } } }], error: null };
    },
  };
}

function connect(script: ReturnType<typeof server>): OvsdbClient {
  return new OvsdbClient({
    remotes: 'tcp:recorded',
    database: 'Small',
    timing: { minBackoff: 60_000, maxBackoff: 60_000 },
    openSocket: scriptedTransport({
      message(message, peer) {
        const answer = script.message(message);
        if (answer !== undefined) peer.send(answer);
      },
    }),
  }).start();
}

test('a database that is converted between the answer to the schema and the request for the contents', async () => {
  const script = server();
  script.afterSchema = () => {
    script.convert();
  };
  await using client = connect(script);
  await client.ready(AbortSignal.timeout(5000));
  expect(client.replica.hasColumn('T', 'b')).toBe(false);
  expect(client.replica.row('T', uuid)?.column('a')).toBe('x');
});

test('a further monitor that is refused since the database was converted meanwhile', async () => {
  const script = server();
  await using client = connect(script);
  await client.ready(AbortSignal.timeout(5000));
  script.convert();
  using further = client.monitor({ T: true });
  await further.ready(AbortSignal.timeout(5000));
  expect(further.replica.hasColumn('T', 'b')).toBe(false);
  await client.ready(AbortSignal.timeout(5000));
  expect(client.replica.hasColumn('T', 'b')).toBe(false);
});
