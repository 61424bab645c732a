import { describe, expect, test } from 'vitest';
import { OvsdbClient, parseSchema, Replica } from 'ovsdb-client-ts';
import { ChangeTracker } from 'ovsdb-client-ts/extras';

const client = (): OvsdbClient =>
  new OvsdbClient({ remotes: 'unix:/does/not/exist', database: 'Small' });

describe('what can not come any more is not waited for', () => {
  test('a lock that was given up', async () => {
    await using owner = client();
    const lock = owner.lock('zone');
    lock.release();
    await expect(lock.held()).rejects.toThrow('the lock zone was given up');
    // Asked for again it is another lock.
    await expect(owner.lock('zone').held(AbortSignal.timeout(1))).rejects.toThrow('timeout');
  });

  test('a lock of a client that is closed', async () => {
    const owner = client().start();
    owner.close();
    await expect(owner.lock('zone').held()).rejects.toThrow('the lock zone was given up');
  });

  test('changes that nobody collects', async () => {
    const tracker = new ChangeTracker(new Replica(parseSchema({ name: 'Small', tables: {} })));
    tracker[Symbol.dispose]();
    await expect(tracker.changed()).rejects.toThrow('the tracker was disposed of');
  });
});
