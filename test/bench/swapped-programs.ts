/** What is lost while the Open vSwitch and OVN of a node become those of another Debian release, and back: on a lab, with Heddle beside, and by OVN alone. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { cacheFolder, checkout } from '../../src/lab/paths.ts';
import type { LabRecord } from '../../src/lab/state-file.ts';
import { whileStreaming, type Stream } from '../support/host/streams.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab } from '../support/lab/lab.ts';
import { manifestsText, podOn, SPACES, spaceObjects } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { until } from '../support/run/until.ts';
import type { Benchmark, Figure } from './benchmark.ts';

/** Debian's release with the other programs; `sid` has OVN 26.03 and Open vSwitch 4.0. */
const SUITE = process.env['HEDDLE_BENCH_SUITE'] ?? 'sid';
const NODE = 'n2';
const LIMIT = { limit: 120_000, pause: 200 };
/** Between pings of a stream. */
const PING_MS = 20;

/** Programs of the other release, where a lab sees them; made once. */
function otherPrograms(): string {
  const environment = { ...process.env, HEDDLE_LAB_SUITE: SUITE };
  execFileSync(join(checkout, 'lab/build'), ['host'], { env: environment, stdio: 'inherit' });
  const folder = join(checkout, '.heddle/programs', SUITE);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(cacheFolder(), SUITE, 'root/usr'), join(folder, 'usr'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  return folder;
}

/** Which programs of a node are exchanged together, in this order. */
const GROUPS = {
  // As in a cluster, where they are in one image.
  OVN: { stop: ['controller', 'northd', 'sb', 'nb'], start: ['nb', 'sb', 'northd', 'controller'] },
  'Open vSwitch': { stop: ['vswitchd', 'ovsdb'], start: ['ovsdb', 'vswitchd'] },
} as const;
type Group = keyof typeof GROUPS;

/** Databases get the schema of the programs that start them, as by deploy/run-ovsdb. */
const CONVERT: Readonly<Record<Group, string>> = {
  OVN: `for db in nb sb; do
    f=/var/lib/ovn/ovn\${db}_db.db s=/usr/share/ovn/ovn-$db.ovsschema
    [ "$(ovsdb-tool needs-conversion $f $s)" = no ] || ovsdb-tool convert $f $s || {
      ovsdb-tool transact $f '["OVN_Southbound",{"op":"delete","table":"Logical_Flow","where":[]}]' > /dev/null
      ovsdb-tool compact $f; ovsdb-tool convert $f $s; }; done`,
  'Open vSwitch': `f=/etc/openvswitch/conf.db s=/usr/share/openvswitch/vswitch.ovsschema
    [ "$(ovsdb-tool needs-conversion $f $s)" = no ] || ovsdb-tool convert $f $s`,
};

class SwappedNode {
  readonly #lab: LabRecord;
  readonly #programs: string;

  constructor(lab: LabRecord, programs: string) {
    this.#lab = lab;
    this.#programs = programs;
  }

  async #shell(script: string): Promise<string> {
    return (await outputInside(this.#lab, ['on', NODE, 'bash', '-ec', script])).trim();
  }

  async #services(how: 'stop' | 'start', names: readonly string[]): Promise<void> {
    for (const name of names) await outputInside(this.#lab, ['service', NODE, how, name]);
  }

  /** Whether what starts on the node is of the other release from now on; what runs goes on. */
  async #use(isOther: boolean): Promise<void> {
    const other = join(this.#programs, 'usr');
    await this.#shell(
      isOther
        ? `mountpoint -q /usr || mount --bind ${other} /usr`
        : 'if mountpoint -q /usr; then umount -l /usr; fi',
    );
  }

  /** Exchanges programs, or starts the same ones again. */
  async exchange(group: Group, isOther: boolean): Promise<void> {
    await this.#services('stop', GROUPS[group].stop);
    await this.#use(isOther);
    await this.#shell(CONVERT[group]);
    await this.#services('start', GROUPS[group].start);
    await this.#shell('ovn-nbctl --timeout=120 --wait=hv sync');
  }

  /** Of what runs. */
  async versions(): Promise<string> {
    const asked = ['ovn-northd', 'ovn-controller', 'ovs-vswitchd'].map(
      (program) =>
        `ovs-appctl -t $(ls /run/ovn/${program}.*.ctl /run/openvswitch/${program}.*.ctl 2>/dev/null | tail -1) version | head -1`,
    );
    return (await this.#shell(asked.join('; '))).replaceAll('\n', ', ');
  }
}

const objects = (names: readonly string[]): string =>
  manifestsText(
    SPACES.flatMap((space) => [
      ...spaceObjects(space),
      podOn('n1', space, 'near'),
      ...names.map((name) => podOn(NODE, space, name)),
    ]),
  );

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'swapped-programs',
    title: `packets lost while a node's OVN and Open vSwitch become those of Debian ${SUITE}, and back`,
    onlyAs: 'swapped-programs', // needs root, the machine for itself, and that release's packages
    async run(progress) {
      const programs = otherPrograms();
      const folder = ownFolder('heddle-swapped');
      writeFileSync(join(folder, 'objects.yaml'), objects(['far']));
      await using made = await testLab('bench-swapped', { nodes: 2, families: 'dual' });
      const { record } = made;
      const tenants = new Tenants(record, { folder, seconds: 120 });
      await tenants.start();
      const ends = await tenants.endpoints();
      const addressOf = (pod: string): string =>
        ends.find((end) => end.pod === pod)?.addresses[0] ?? '';
      const streams = SPACES.flatMap((space): Stream[] => {
        const [near, far] = [`${space}/near`, `${space}/far`];
        return [
          { from: near, to: far, address: addressOf(far), isRenewed: true },
          { from: far, to: near, address: addressOf(near) },
          { from: far, to: 'ext', address: OUTSIDE.v4 },
        ];
      });
      const node = new SwappedNode(record, programs);
      const figures: Figure[] = [];
      const measure = async (name: string, during: () => Promise<void>): Promise<void> => {
        const seen = await whileStreaming(record, streams, async () => {
          await pause(1000);
          await during();
          await pause(2000);
        });
        const now = await node.versions();
        const lost = seen.map(({ lost: pings }) => pings * PING_MS);
        progress(
          `${name} (${now}): ${seen.map((one, n) => `${streams[n]?.from} to ${streams[n]?.to}: ${JSON.stringify(one)}`).join('; ')}`,
        );
        const sum = (of: (one: (typeof seen)[number]) => number): number =>
          seen.reduce((total, one) => total + of(one), 0);
        figures.push(
          { name: `${name}: longest without answers`, value: Math.max(...lost), unit: 'ms' },
          {
            name: `${name}: datagrams lost of ${sum((one) => one.datagrams + one.lostDatagrams)}`,
            value: sum((one) => one.lostDatagrams),
            unit: 'operations',
          },
          {
            name: `${name}: failed of ${sum((one) => one.connections + one.failedConnections)} new connections`,
            value: sum((one) => one.failedConnections),
            unit: 'connections',
          },
          {
            name: `${name}: long connections that broke`,
            value: sum((one) => one.broken),
            unit: 'connections',
          },
        );
      };
      const whole = async (): Promise<void> => {
        await until(
          'packets between all pods',
          async () => (await tenants.unexpected()).length === 0,
          LIMIT,
        );
      };
      // Everything has computed what it will.
      await measure('nothing exchanged', () => pause(2000));
      await measure('OVN restarted', () => node.exchange('OVN', false));
      await measure(`OVN of ${SUITE}`, () => node.exchange('OVN', true));
      // Under the newer OVN a pod comes, and everybody reaches it.
      writeFileSync(join(tenants.manifests, 'objects.yaml'), objects(['far', 'later']));
      await tenants.settle();
      await whole();
      await measure(`OVN back from ${SUITE}`, () => node.exchange('OVN', false));
      for (const one of ['n1', NODE]) await stopDaemon(record, one);
      await measure('OVN restarted, without Heddle', () => node.exchange('OVN', false));
      await measure(`OVN of ${SUITE}, without Heddle`, () => node.exchange('OVN', true));
      await measure(`OVN back from ${SUITE}, without Heddle`, () => node.exchange('OVN', false));
      await tenants.start();
      await measure('Open vSwitch restarted', () => node.exchange('Open vSwitch', false));
      await measure(`Open vSwitch of ${SUITE}`, () => node.exchange('Open vSwitch', true));
      await whole();
      await measure(`OVN of ${SUITE} on its Open vSwitch`, () => node.exchange('OVN', true));
      await whole();
      await measure(`Open vSwitch back from ${SUITE}`, () => node.exchange('Open vSwitch', false));
      await node.exchange('OVN', false);
      await whole();
      rmSync(folder, { recursive: true });
      return figures;
    },
  },
];
