import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/store/clock.ts';
import { FileTree } from '../../../src/store/manifests/file-tree.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

describe('file tree', () => {
  let root: string;
  const trees: FileTree[] = [];
  beforeEach(async () => {
    root = ownFolder('heddle-tree');
  });
  afterEach(async () => {
    for (const tree of trees.splice(0)) tree.close();
    await rm(root, { recursive: true });
  });

  const treeOf = (
    folder: string,
    replacedOnly: boolean,
    onHint = (): void => undefined,
  ): FileTree => {
    const wants = (name: string): boolean => name.endsWith('.json');
    const tree = new FileTree(folder, { wants, onHint, replacedOnly, clock: systemClock });
    trees.push(tree);
    return tree;
  };

  /** What a reader of the tree knows after taking over its changes. */
  async function takeOver(tree: FileTree, known: Map<string, string>): Promise<void> {
    const { changed, removed } = await tree.scan('everywhere');
    for (const [path, text] of changed) known.set(path, text);
    for (const path of removed) known.delete(path);
  }

  const paths = fc.constantFrom('a.json', 'b.json', 'x/a.json', 'x/y/a.json', 'z/b.json');
  const actions = fc.array(
    fc.oneof(
      fc.record({
        kind: fc.constant('replace' as const),
        path: paths,
        text: fc.constantFrom('1', '2', '3'),
      }),
      fc.record({
        kind: fc.constant('write' as const),
        path: paths,
        text: fc.constantFrom('1', '2', '3'),
      }),
      fc.record({ kind: fc.constant('remove' as const), path: paths }),
      fc.record({
        kind: fc.constant('remove folder' as const),
        path: fc.constantFrom('x', 'x/y', 'z'),
      }),
      fc.record({ kind: fc.constant('scan' as const) }),
    ),
    { maxLength: 25 },
  );

  test.each([true, false])(
    'a scan of everything finds what happened, however quickly (files only replaced: %s)',
    async (replacedOnly) => {
      await fc.assert(
        fc.asyncProperty(actions, async (steps) => {
          const folder = await mkdtemp(join(root, 'run-'));
          const tree = treeOf(folder, replacedOnly);
          const known = new Map<string, string>();
          const truth = new Map<string, string>();
          for (const step of steps)
            if (step.kind === 'scan') await takeOver(tree, known);
            else if (step.kind === 'remove folder') {
              await rm(join(folder, step.path), { recursive: true, force: true });
              for (const path of truth.keys())
                if (path.startsWith(`${step.path}/`)) truth.delete(path);
            } else if (step.kind === 'remove') {
              await rm(join(folder, step.path), { force: true });
              truth.delete(step.path);
            } else {
              const file = join(folder, step.path);
              await mkdir(dirname(file), { recursive: true });
              if (step.kind === 'write' && !replacedOnly) await writeFile(file, step.text);
              else {
                await writeFile(join(folder, '.new'), step.text);
                await rename(join(folder, '.new'), file);
              }
              truth.set(step.path, step.text);
            }
          await takeOver(tree, known);
          expect(known).toEqual(truth);
          tree.close();
        }),
        { numRuns: 40 },
      );
    },
  );

  test('what a notification names is found without looking at the rest', async () => {
    await writeFile(join(root, 'a.json'), '1');
    const hinted = Promise.withResolvers<void>();
    const tree = treeOf(root, false, () => hinted.resolve());
    await tree.scan('everywhere');
    await writeFile(join(root, 'a.json'), '2');
    await hinted.promise;
    await expect
      .poll(async () => [...(await tree.scan('dirty')).changed])
      .toEqual([['a.json', '2']]);
    expect((await tree.scan('dirty')).changed.size).toBe(0);
  });

  test('links are followed, but not in circles; hidden names and others are left alone', async () => {
    await mkdir(join(root, '..data'));
    await writeFile(join(root, '..data', 'a.json'), 'mounted');
    await symlink('..data/a.json', join(root, 'a.json'));
    await mkdir(join(root, 'sub'));
    await symlink('..', join(root, 'sub', 'loop'));
    await symlink('nowhere', join(root, 'dangling.json'));
    await writeFile(join(root, '.hidden.json'), 'no');
    await writeFile(join(root, 'notes.txt'), 'no');
    const { changed, unreadable } = await treeOf(root, false).scan('everywhere');
    expect([...changed.keys()].filter((path) => !path.includes('loop'))).toEqual(['a.json']);
    expect(changed.size).toBeLessThanOrEqual(2);
    expect(unreadable.size).toBe(0);
    expect(await readFile(join(root, 'a.json'), 'utf8')).toBe('mounted');
  });

  test('what can not be read is not gone', async () => {
    await writeFile(join(root, 'a.json'), '1');
    const tree = treeOf(root, false);
    await tree.scan('everywhere');
    await rename(root, `${root}-away`);
    const { removed, unreadable } = await tree.scan('everywhere');
    expect(removed.size).toBe(0);
    expect([...unreadable.keys()]).toEqual(['']);
    await rename(`${root}-away`, root);
    expect((await tree.scan('everywhere')).unreadable.size).toBe(0);
  });
});
