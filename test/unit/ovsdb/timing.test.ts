import { expect, test } from 'vitest';
import { OvsdbClient, type ClientOptions } from '../../../src/ovsdb/index.ts';

type Timing = NonNullable<ClientOptions['timing']>;

const client = (timing: Timing, options: Partial<ClientOptions> = {}): OvsdbClient =>
  new OvsdbClient({ remotes: 'tcp:nowhere', database: 'Small', timing, ...options });

test.each([
  [{ connectTimeout: 0 }, 'timing.connectTimeout is 0; give milliseconds above 0, or Infinity'],
  [{ connectTimeout: -1 }, 'timing.connectTimeout is -1'],
  [{ connectTimeout: Number.NaN }, 'timing.connectTimeout is NaN'],
  // A timer of Node.js that is to wait for longer fires at once.
  [{ connectTimeout: 2 ** 31 }, 'timing.connectTimeout is 2147483648'],
  [{ connectTimeout: '5s' as unknown as number }, 'timing.connectTimeout is 5s'],
  [{ connectTimeOut: 5 } as unknown as Timing, 'timing has no connectTimeOut; it has minBackoff'],
  [{ minBackoff: 0 }, 'timing.minBackoff is 0; give milliseconds above 0'],
  [{ minBackoff: 9000 }, 'timing.maxBackoff is 8000, less than minBackoff, 9000'],
  [{ maxBackoff: Infinity }, 'timing.maxBackoff is Infinity'],
  [{ probeInterval: -5 }, 'timing.probeInterval is -5; give milliseconds, or 0 for never'],
  [{ checkInterval: Infinity }, 'timing.checkInterval is Infinity'],
])('times that can not be meant are refused: %j', (timing, text) => {
  expect(() => client(timing)).toThrow(text);
});

test('times that are not given have their defaults', async () => {
  await using given = client({
    connectTimeout: Infinity,
    probeInterval: 0,
    checkInterval: 0,
    minBackoff: undefined as unknown as number,
  });
  expect(given.status).toBe('disconnected');
});

test('an attempt to connect takes no longer than the program says', async () => {
  const errors: string[] = [];
  let canceled = 0;
  await using own = client(
    { connectTimeout: 20, minBackoff: 1, maxBackoff: 1 },
    {
      // Never opens, as when a TLS handshake gets no answer.
      openSocket: () => ({
        cancel() {
          canceled++;
        },
      }),
      onEvent: (event) => {
        if (event.kind === 'disconnected') errors.push(event.error.message);
      },
    },
  );
  own.start();
  await expect.poll(() => errors.length).toBeGreaterThanOrEqual(2);
  expect(errors[0]).toContain('no connection within 20 ms (timing.connectTimeout)');
  expect(canceled).toBeGreaterThanOrEqual(2);
});
