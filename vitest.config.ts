import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { FileOrder } from './test/support/run/file-order.ts';

const processorTime = 'test/support/run/processor-time.ts';
const propertySeed = 'test/support/run/property-seed.ts';

/** End-to-end tests that need another kernel than this machine's. */
const IN_VIRTUAL_MACHINE = [
  'host',
  'hostile/packets-vm',
  'local-gateway',
  'matrix-local-gateway',
  'vm',
].map((name) => `test/e2e/${name}.test.ts`);

/** End-to-end tests on Kubernetes: test/all.ts runs the installation alone, and the rest beside the others. */
const ON_KUBERNETES = ['kubernetes/install', 'kubernetes-faults', 'kubernetes-pods'].map(
  (name) => `test/e2e/${name}.test.ts`,
);

/** Three layers: pure tests, tests against real servers, and end-to-end tests with packets in the lab. */
export default defineConfig({
  test: {
    sequence: { sequencer: FileOrder },
    projects: [
      {
        test: {
          name: 'unit',
          // Conditions are waited for as long as a busy machine needs, where these tests yield to all others; none waits for time to pass.
          expect: { poll: { timeout: 30_000 } },
          include: ['test/unit/**/*.test.ts', 'test/conformance/**/*.test.ts'],
          testTimeout: 120_000,
          globalSetup: ['test/support/run/compiled-command.ts'],
          setupFiles: [processorTime, propertySeed],
          // Modules are loaded once for all files of a worker: most of these tests take less than that.
          isolate: false,
          maxWorkers: availableParallelism(),
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          testTimeout: 60_000,
          // A server on a busy machine can be late once; test/all.ts says which test needed a second try.
          retry: 1,
          globalSetup: ['test/support/run/compiled-command.ts'],
          setupFiles: [processorTime, propertySeed],
          hookTimeout: 120_000,
          // They wait for servers half of the time.
          maxWorkers: 3,
        },
      },
      ...[
        {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: [...IN_VIRTUAL_MACHINE, ...ON_KUBERNETES],
        },
        { name: 'kubernetes', include: ON_KUBERNETES },
        { name: 'vm', include: IN_VIRTUAL_MACHINE },
      ].map((files) => ({
        test: {
          ...files,
          runner: 'test/support/run/late-files.ts',
          testTimeout: 300_000,
          retry: 1,
          globalSetup: ['test/support/run/compiled-command.ts'],
          setupFiles: [processorTime],
          hookTimeout: 600_000,
          // A lab has enough to do for a processor. test/all.ts runs one of each kind at a time.
          fileParallelism: false,
        },
      })),
    ],
  },
});
