import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../support/ovsdb/ovsdb-server.ts';

/** The generator of types as its users run it. */

const GENERATOR = resolve(import.meta.dirname, '../../../src/ovsdb/schema/generate.ts');

let folder: ReturnType<typeof temporaryFolder>;

beforeAll(() => {
  folder = temporaryFolder();
  const columns = {
    name: { type: 'string', mutable: false },
    disks: { type: { key: { type: 'uuid', refTable: 'Disk' }, min: 0, max: 'unlimited' } },
    boot: { type: { key: { type: 'uuid', refTable: 'Disk', refType: 'weak' }, min: 0 } },
    ids: { type: { key: 'string', value: 'string', min: 0, max: 'unlimited' } },
    slots: {
      type: { key: 'integer', value: { type: 'uuid', refTable: 'Disk' }, min: 0, max: 'unlimited' },
    },
    state: { type: { key: { type: 'string', enum: ['set', ['on', 'off']] } } },
  };
  const Disk = { columns: { size: { type: 'integer' } } };
  writeFileSync(
    join(folder.path, 'own.ovsschema'),
    JSON.stringify({
      name: 'Inventory',
      version: '1.2.0',
      tables: { Host: { columns, isRoot: true }, Disk },
    }),
  );
  writeFileSync(join(folder.path, 'other.json'), '{"type":"module"}');
  writeFileSync(join(folder.path, 'broken.json'), '{"name":');
});

afterAll(() => {
  folder[Symbol.dispose]();
});

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [GENERATOR, ...args], { cwd: folder.path, encoding: 'utf8' });

test('types of a schema of its own, with one import of the client', () => {
  const { status, stdout } = run('own.ovsschema', 'Inventory', './client/index.ts');
  expect(status).toBe(0);
  expect(stdout).toBe(`// Types of the tables of Inventory 1.2.0, from own.ovsschema.
import type { Column, Integer, Uuid } from './client/index.ts';

export interface Host {
  readonly name: Column<string, false>;
  /** Refers to Disk. */
  readonly disks: Column<readonly Uuid[]>;
  /** Refers to weak Disk. */
  readonly boot: Column<Uuid | undefined>;
  readonly ids: Column<ReadonlyMap<string, string>>;
  /** Refers to Disk. */
  readonly slots: Column<ReadonlyMap<Integer, Uuid>>;
  readonly state: Column<'off' | 'on' | ''>;
}

/** Lives only while a strong reference points at it. */
export interface Disk {
  readonly size: Column<Integer>;
}

/** Tables of Inventory 1.2.0. */
export interface Inventory {
  readonly Host: Host;
  readonly Disk: Disk;
}
`);
});

test('types of desired rows, with references to other desired rows', () => {
  const { status, stdout } = run('own.ovsschema', 'InventoryRows', '--rows', './row-types.ts');
  expect(status).toBe(0);
  expect(stdout).toBe(`// Types of the tables of Inventory 1.2.0, from own.ovsschema.
import type { Integer } from 'ovsdb-client-ts';
import type { Reference, StringMap } from './row-types.ts';

/** Desired rows of Inventory 1.2.0: what each column may be given. */
export interface InventoryRows {
  readonly Host: {
    readonly name?: string | undefined;
    /** Refers to Disk. */
    readonly disks?: readonly Reference[] | undefined;
    /** Refers to weak Disk. */
    readonly boot?: Reference | undefined;
    readonly ids?: StringMap | undefined;
    /** Refers to Disk. */
    readonly slots?: ReadonlyMap<Integer, Reference> | undefined;
    readonly state?: 'off' | 'on' | undefined;
  };
  readonly Disk: {
    readonly size?: Integer | undefined;
  };
}
`);
});

test('types of the tables that are named', () => {
  const { status, stdout } = run('own.ovsschema', 'Inventory', '--tables', 'Disk');
  expect(status).toBe(0);
  expect(stdout).toContain('readonly Disk: Disk;');
  expect(stdout).not.toContain('Host');
});

describe('what is wrong is said in a line', () => {
  test.each([
    ['no such file', ['missing.ovsschema', 'X'], 1, 'missing.ovsschema: ENOENT'],
    [
      'no schema',
      ['other.json', 'X'],
      1,
      "other.json: Parsing database schema failed: Required 'name'",
    ],
    ['no JSON', ['broken.json', 'X'], 1, 'broken.json: '],
    ['a table of that name', ['own.ovsschema', 'Host'], 2, 'Host is a table: choose another name'],
    [
      'no such table',
      ['own.ovsschema', 'X', '--tables', 'Disk,Dsk'],
      2,
      'Inventory has no table "Dsk"',
    ],
    ['no name', ['own.ovsschema', 'not-a-name'], 2, '"not-a-name" is no name for an interface'],
    ['a name missing', ['own.ovsschema'], 2, 'usage: '],
    ['an unknown option', ['--nonsense'], 2, "Unknown option '--nonsense'"],
    ['rows of no module', ['own.ovsschema', 'X', '--rows'], 2, 'argument missing'],
    ['too many names', ['own.ovsschema', 'X', './client.ts', 'Y'], 2, 'usage: '],
  ])('%s', (_what, args, code, text) => {
    const { status, stdout, stderr } = run(...args);
    expect([status, stdout]).toEqual([code, '']);
    expect(stderr).toContain(text);
    expect(stderr).not.toContain('    at ');
  });

  test('help is help', () => {
    const { status, stdout } = run('--help');
    expect(status).toBe(0);
    expect(stdout).toContain('usage: ');
  });
});
