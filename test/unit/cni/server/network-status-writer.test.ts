import { expect, test } from 'vitest';
import type { Pod } from '../../../../src/api/types.ts';
import { NetworkStatusWriter } from '../../../../src/cni/server/network-status-writer.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { StoreError, type Store } from '../../../../src/store/store.ts';
import { until } from '../../../support/run/until.ts';

const pod = (uid: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'blue', uid },
  spec: { containers: [] },
});

type Answer = () => Promise<never> | undefined;

/** A writer, and what it wrote; `answers` come before success. */
function writerWith(answers: Answer[], current: () => Pod | undefined = () => pod('1')) {
  const tried: string[] = [];
  const store = {
    patchStatus: async (_kind: unknown, key: string, patch: object) => {
      const { metadata } = patch as { metadata: { annotations: Record<string, string> } };
      tried.push(`${key} ${Object.values(metadata.annotations).join()}`);
      await answers.shift()?.();
      return pod('1');
    },
  } as unknown as Pick<Store, 'patchStatus'>;
  const log = createLogger('silent');
  return { tried, writer: new NetworkStatusWriter({ store, pods: { get: current }, log }) };
}
const refused =
  (code: 'unavailable' | 'forbidden'): Answer =>
  () =>
    Promise.reject(new StoreError(code, 'no'));

test('what can be taken later is tried again', async () => {
  const { tried, writer } = writerWith([refused('unavailable')]);
  await using _writer = writer;
  writer.write('blue/web', '1', 'a');
  await until('the second try', () => tried.length === 2);
  expect(tried).toEqual(['blue/web a', 'blue/web a']);
});

test('what is refused for good is left, and the next one is written', async () => {
  const { tried, writer } = writerWith([refused('forbidden')]);
  await using _writer = writer;
  writer.write('blue/web', '1', 'a');
  await until('the refusal', () => tried.length === 1);
  writer.write('blue/web', '1', 'b');
  await until('the next one', () => tried.length === 2);
  expect(tried).toEqual(['blue/web a', 'blue/web b']);
});

test('only the newest is written after one that is under way, and nothing of a pod that is another now', async () => {
  const gate = Promise.withResolvers<never>();
  let uid = '1';
  const { tried, writer } = writerWith([() => gate.promise], () => pod(uid));
  await using _writer = writer;
  writer.write('blue/web', '1', 'a');
  await until('the first', () => tried.length === 1);
  writer.write('blue/web', '1', 'b');
  writer.write('blue/web', '1', 'c');
  gate.resolve(undefined as never);
  await until('the newest', () => tried.length === 2);
  expect(tried).toEqual(['blue/web a', 'blue/web c']);
  uid = '2';
  writer.write('blue/web', '1', 'd');
  writer.write('blue/other', '2', 'e');
  await until('another pod', () => tried.length === 3);
  expect(tried.at(-1)).toBe('blue/other e');
});
