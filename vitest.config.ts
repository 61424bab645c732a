import { defineConfig } from 'vitest/config';

/** Three layers: pure tests, tests against real servers, and end-to-end tests with packets in the lab. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          // Conditions are waited for as long as a busy machine needs; none of these tests waits for time to pass.
          expect: { poll: { timeout: 10_000 } },
          include: ['test/unit/**/*.test.ts', 'test/conformance/**/*.test.ts'],
          testTimeout: 20_000,
          setupFiles: ['test/support/property-seed.ts'],
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          testTimeout: 60_000,
          // A server on a busy machine can be late once; test/all.ts says which test needed a second try.
          retry: 1,
          setupFiles: ['test/support/property-seed.ts'],
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 300_000,
          retry: 1,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
