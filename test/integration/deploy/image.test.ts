/** The image that deploy/Dockerfile makes: built twice it is the same, and what deploy/ runs of it runs on a read-only root file system. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  buildImage,
  imageSettings,
  printedIn,
  removeImages,
  startIn,
  unpackedImage,
  whyNoImage,
} from '../../support/cluster/product-image.ts';
import { DAEMON_OPTIONS } from '../../../src/lab/paths.ts';
import { runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const COMMAND = ['node', '/app/dist/cli/main.js'];
const NAMES = [1, 2].map((build) => `heddle-test:${process.pid}-${build}`);

const why = whyNoImage();

describe.skipIf(why !== undefined)(
  `the image${why === undefined ? '' : ` (${why})`}`,
  { timeout: 900_000, retry: 0 },
  () => {
    let id = '';
    let folder = '';
    let files: ReturnType<typeof unpackedImage>;
    const running: ChildProcess[] = [];

    beforeAll(() => {
      folder = ownFolder('heddle-image');
      id = buildImage(NAMES[0] ?? '');
      files = unpackedImage(id);
    }, 600_000);

    afterAll(async () => {
      for (const one of running)
        if (one.exitCode === null) {
          const ended = once(one, 'exit');
          one.kill('SIGTERM');
          await ended;
        }
      files.remove();
      removeImages(NAMES);
      rmSync(folder, { recursive: true });
    });

    const printed = (...command: readonly string[]): string =>
      printedIn(files.root, folder, command);

    test('is the same when it is built again', () => {
      const again = buildImage(NAMES[1] ?? '');
      expect(imageSettings(again).OCIv1.rootfs).toEqual(imageSettings(id).OCIv1.rootfs);
      expect(again).toBe(id);
    });

    test('runs compiled JavaScript, as nobody unless it is told otherwise', () => {
      const { User, Entrypoint } = imageSettings(id).OCIv1.config;
      expect([User, Entrypoint]).toEqual([
        '65532:65532',
        ['node', ...DAEMON_OPTIONS, '/app/dist/cli/main.js'],
      ]);
      expect(printed(...Entrypoint, 'node', '--help')).toContain('Usage: heddle node');
      expect(printed('find', '/app', '-name', '*.ts', '-o', '-name', 'node_modules')).toBe('');
      expect(() => printed('npm', '--version')).toThrow('No such file or directory');
    });

    test('has what deploy/ runs, and explains itself', () => {
      expect(printed(...COMMAND, '--help')).toContain('Usage: heddle');
      const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
        version: string;
      };
      for (const command of [COMMAND, ['heddle']])
        expect(printed(...command, '--version').trim()).toBe(version);
      for (const program of ['ovn-northd', 'ovn-controller', 'ovs-vsctl', 'nft'])
        expect(printed(program, '--version')).toMatch(/\d+\.\d+/);
      for (const program of ['ip', 'conntrack'])
        expect(() => printed(program)).toThrow('No such file or directory');
      expect(() => printed('touch', '/app/x')).toThrow('Read-only file system');
    });

    test('loads what is not JavaScript on a read-only root', () => {
      const koffi = `const koffi = require('/app/dist/cli/koffi/index.js');
        console.log(koffi.load('libc.so.6').func('int getpid()')() === process.pid)`;
      expect(printed('node', '-e', koffi).trim()).toBe('true');
    });

    test('says what it is made of, each version as Debian and the lock file have it', () => {
      const bill = JSON.parse(printed('cat', '/app/sbom.cdx.json')) as {
        components: readonly { name: string; version: string }[];
      };
      const listed = bill.components.map(({ name, version }) => `${name} ${version}`);
      const debian = printed('dpkg-query', '--show', '--showformat', '${Package} ${Version}\n');
      expect(listed).toEqual(expect.arrayContaining(debian.trim().split('\n')));
      expect(listed).toContain(`node ${printed('node', '--version').trim().slice(1)}`);
      const notices = printed('cat', '/app/dist/NOTICES');
      for (const [, name] of notices.matchAll(/^(\S+ \d[\d.]*) \([\w.-]+\)$/gm))
        expect(listed).toContain(name);
    });

    test('tells no machine from another', () => {
      expect(printed('cat', '/etc/machine-id')).toBe('');
    });

    /** A Southbound database as OVN 26.03 leaves it: with a flow of a table that 25.03 has not. */
    async function newerSouthbound(): Promise<void> {
      const text = printed('cat', '/usr/share/ovn/ovn-sb.ovsschema');
      const newer = JSON.parse(text) as {
        version: string;
        tables: {
          Logical_Flow: { columns: { table_id: { type: { key: { maxInteger: number } } } } };
        };
      };
      const { key } = newer.tables.Logical_Flow.columns.table_id.type;
      key.maxInteger += 1;
      newer.version = '99.0.0';
      const schema = join(folder, 'newer.ovsschema');
      writeFileSync(schema, JSON.stringify(newer));
      const database = join(folder, 'data/ovnsb_db.db');
      await runOvs('ovsdb-tool', ['create', database, schema]);
      const row = { pipeline: 'ingress', table_id: key.maxInteger, match: '1', actions: 'next;' };
      const inserts = [
        { op: 'insert', table: 'Logical_Flow', row },
        { op: 'insert', table: 'Address_Set', row: { name: 'kept' } },
      ];
      await runOvs('ovsdb-tool', [
        'transact',
        database,
        JSON.stringify(['OVN_Southbound', ...inserts]),
      ]);
    }

    test('its databases and northd answer with the rights of deploy/, also where a newer OVN was', async () => {
      await newerSouthbound();
      for (const database of ['nb', 'sb'])
        running.push(startIn(files.root, folder, ['/app/deploy/run-ovsdb', database]));
      for (const socket of ['ovnnb_db.sock', 'ovnsb_db.sock'])
        await until(`${socket} is there`, () => existsSync(join(folder, 'run', socket)), 60_000);
      expect(printed('ovn-sbctl', '--timeout=60', 'list', 'Address_Set')).toContain('kept');
      running.push(
        startIn(files.root, folder, [
          'ovn-northd',
          '--ovnnb-db=unix:/var/run/ovn/ovnnb_db.sock',
          '--ovnsb-db=unix:/var/run/ovn/ovnsb_db.sock',
          '--pidfile=/var/run/ovn/ovn-northd.pid',
        ]),
      );
      expect(printed('ovn-nbctl', '--timeout=60', '--wait=sb', 'ls-add', 'blue').trim()).toBe('');
      expect(printed('ovn-sbctl', '--timeout=60', 'list', 'Datapath_Binding')).toContain(
        'name=blue',
      );
    });
  },
);
