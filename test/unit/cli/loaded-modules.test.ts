/** What a command loads makes its start, and stays in the memory of a daemon for as long as it lives. */
import { execFileSync, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { program } from '../../../src/lab/paths.ts';

const CLI = resolve(import.meta.dirname, '../../../src/cli');

/** Files that are loaded with a command's module, from `src` and `node_modules` on. */
function loadedWith(command: string): readonly string[] {
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({ load: (url, context, next) => (console.log(url), next(url, context)) });
    await import(${JSON.stringify(`${CLI}/${command}.ts`)});
  `;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((url) => url.startsWith('file:'));
}

test.each(['cluster', 'node'])(
  'heddle %s loads neither the rules of CRDs nor what one of the two object sources, or traces, alone need',
  (command) => {
    const loaded = loadedWith(command);
    expect(loaded.length).toBeGreaterThan(50);
    const needless =
      /cel-js|crds\.generated|store\/manifests\/manifest-store|store\/kubernetes\/kubernetes-store|conversion-webhook|traces\/span-sender/;
    expect(loaded.filter((url) => needless.test(url))).toEqual([]);
  },
);

/** Names of the files that the compiled command loads. */
function loadedBy(...args: readonly string[]): readonly string[] {
  const hook = `
    import { registerHooks } from 'node:module';
    registerHooks({ load: (url, context, next) => (console.error(url), next(url, context)) });
  `;
  const { stderr } = spawnSync(
    process.execPath,
    [`--import=data:text/javascript,${encodeURIComponent(hook)}`, program, ...args],
    { encoding: 'utf8' },
  );
  return stderr.split('\n').filter((url) => url.startsWith('file:'));
}

test('heddle --version loads no command', () => {
  expect(loadedBy('--version').length).toBeLessThan(20);
});

test('a command loads JavaScript alone, and not the modules of others', () => {
  const loaded = loadedBy('cni', '--help');
  expect(loaded.filter((url) => !url.endsWith('.js'))).toEqual([]);
  expect(loaded.some((url) => url.includes('/cni-'))).toBe(true);
  expect(loaded.filter((url) => /zone-|cluster-|validate-/.test(url))).toEqual([]);
});
