/** What a daemon loads stays in its memory for as long as it lives. */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

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
  'heddle %s loads neither the rules of CRDs nor what one of the two object sources alone needs',
  (command) => {
    const loaded = loadedWith(command);
    expect(loaded.length).toBeGreaterThan(50);
    const needless =
      /cel-js|crds\.generated|store\/manifests\/manifest-store|store\/kubernetes\/kubernetes-store|conversion-webhook/;
    expect(loaded.filter((url) => needless.test(url))).toEqual([]);
  },
);
