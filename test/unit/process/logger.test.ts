import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const LOGGER = pathToFileURL(join(import.meta.dirname, '../../../src/process/logger.ts')).href;

/** Lines that a process logs which runs this with a logger `log`. */
function logged(statements: string): readonly Record<string, unknown>[] {
  const script = `import { createLogger } from '${LOGGER}';\nconst log = createLogger('info');\n${statements}`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  return stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('an error that only a fault of ours makes is logged with its stack, also as the cause of another; any other one is its text and code', () => {
  const [fault, wrapped, refused] = logged(`
    const attempt = (work) => { try { work(); } catch (error) { return error; } };
    const fault = attempt(function pass() { undefined.name; });
    log.error({ error: fault }, 'a');
    log.error({ error: new Error('inside the pod', { cause: fault }) }, 'b');
    log.error({ error: Object.assign(new Error('no such device'), { code: 'ENODEV' }) }, 'c');
  `);
  const stack = expect.stringMatching(/^TypeError: .*\n {4}at pass \(/s) as string;
  expect(fault).toMatchObject({ level: 'error', error: { stack } });
  expect(wrapped).toMatchObject({ error: { message: 'inside the pod', stack } });
  expect(refused?.['error']).toEqual({ message: 'no such device', code: 'ENODEV' });
});
