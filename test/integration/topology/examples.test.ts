/** Who reaches whom in the folders of examples/: the table of each README.md, beside what ovn-northd and ovn-trace make of the rows. */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';
import { renderedZone } from '../../../src/zone/rendered-zone.ts';
import { shellFunction } from '../../support/host/ovs-programs.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import {
  ADDRESS,
  CHASSIS,
  examples,
  exitExamples,
  NODE,
  optionsOf,
  type Way,
} from '../../support/zone/examples.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';

test('there are such examples', () => {
  expect(examples.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'connect',
      'hostport',
      'multicast',
      'network-policy',
      'services',
      'tenant-connects',
      'two-tenants',
    ]),
  );
});

interface Port {
  readonly name: string;
  readonly switchName: string;
  readonly mac: string;
  readonly address: string;
}

/** A port of a pod on one of its networks: `blue/web`, the one that it leaves by, or `lab/disk on storage`. */
async function portOf(zone: OvnZone, secondary: readonly string[], named: string): Promise<Port> {
  const [pod = '', network] = named.split(' on ');
  const [namespace = '', podName = ''] = pod.split('/');
  const rows = (
    await zone.nbctl(
      '--format=csv',
      '--no-headings',
      '--columns=name,addresses',
      'list',
      'Logical_Switch_Port',
    )
  )
    .split('\n')
    .flatMap((line) => {
      const [, name = '', mac = '', address = ''] =
        /^"?([^",]+)"?,"?\[?"*((?:[\da-f]{2}:){5}[\da-f]{2}) ([\d.]+)/.exec(line) ?? [];
      return name.endsWith(`${namespace}_${podName}`) ? [{ name, mac, address }] : [];
    });
  const ofNetwork = rows.filter(({ name }) =>
    network === undefined
      ? !secondary.some((other) => name.includes(other))
      : name.includes(network),
  );
  // Of the default network and a primary one, pods leave by the latter.
  const [found] = ofNetwork.toSorted((a, b) => b.name.length - a.name.length);
  if (found === undefined)
    return expect.unreachable(`no port of ${named} among ${rows.map(({ name }) => name).join()}`);
  const switches = (await zone.nbctl('--bare', '--columns=name', 'list', 'Logical_Switch'))
    .split('\n')
    .filter(Boolean);
  for (const switchName of switches)
    if ((await zone.nbctl('lsp-list', switchName)).includes(`(${found.name})`))
      return { ...found, switchName };
  return expect.unreachable(`no switch has ${found.name}`);
}

/** That of 224.0.0.251 (RFC 1112 §6.4). */
const MULTICAST_MAC = '01:00:5e:00:00:fb';
const isMulticast = (address: string): boolean => address.startsWith('224.');

/** MAC address that the port sends to: that of a neighbour, else of the router at its switch. */
async function nextHop(
  zone: OvnZone,
  from: Port,
  to: Pick<Port, 'address'> & Partial<Port>,
): Promise<string> {
  if (isMulticast(to.address)) return MULTICAST_MAC;
  if (to.switchName === from.switchName && to.mac !== undefined) return to.mac;
  const ports = await zone.nbctl('lsp-list', from.switchName);
  for (const [, name = ''] of ports.matchAll(/\(([^)]+)\)/g)) {
    const peer = (await zone.nbctl('lsp-get-options', name)).match(/router-port=(\S+)/)?.[1];
    if (peer === undefined) continue;
    const mac = (await zone.nbctl('get', 'Logical_Router_Port', peer, 'mac'))
      .replaceAll('"', '')
      .trim();
    if (mac !== '') return mac;
  }
  // Nobody: a frame for whoever has that address.
  return '0a:00:00:00:00:01';
}

/** Has OVN make of the objects of a folder what it makes on a node, for which `use` then looks. */
async function onNode(
  folder: string,
  use: (ovn: OvnZone, rendered: Awaited<ReturnType<typeof renderedZone>>) => Promise<void>,
): Promise<void> {
  const manifests = ownFolder('heddle-example');
  await using ovn = await OvnZone.start(CHASSIS, ADDRESS);
  try {
    for (const file of globSync(join(folder, '*.yaml')))
      cpSync(file, join(manifests, basename(file)));
    writeFileSync(join(manifests, 'node.json'), NODE);
    const configuration = resolveConfiguration({
      flags: { ...optionsOf(folder), manifests, node: 'n1', render: 'everywhere' },
      environment: {},
    });
    await using rendered = await renderedZone({ ...configuration, node: 'n1' });
    execFileSync('bash', ['-s'], {
      input: [
        shellFunction('ovn-nbctl', ovn.northbound.remote),
        shellFunction('ovn-sbctl', ovn.southbound.remote),
        rendered.script(),
      ].join('\n'),
    });
    await ovn.nbctl('--wait=sb', 'sync');
    await use(ovn, rendered);
  } finally {
    rmSync(manifests, { recursive: true });
  }
}

/** What becomes of a new connection, as ovn-trace has it. */
async function stepsOf(
  ovn: OvnZone,
  from: Port,
  to: Pick<Port, 'address'> & Partial<Port>,
  service: string,
): Promise<readonly string[]> {
  const [port, protocol = 'tcp'] = service.split('/');
  const packet = [
    `inport=="${from.name}"`,
    `eth.src==${from.mac}`,
    `eth.dst==${await nextHop(ovn, from, to)}`,
    `ip4.src==${from.address}`,
    `ip4.dst==${to.address}`,
    'ip.ttl==64',
    `${protocol}.dst==${port}`,
  ].join(' && ');
  return ovn.trace(from.switchName, packet, ...Array.from({ length: 8 }, () => '--ct=new'));
}

const lastOutput = (steps: readonly string[]): string | undefined =>
  /^output\("([^"]+)"\)/.exec(steps.findLast((step) => step.startsWith('output')) ?? '')?.[1];

describe.each(examples)('$name', ({ folder, ways }) => {
  test('its table says who reaches whom', async () => {
    await onNode(folder, async (ovn, rendered) => {
      // By the names of their objects, as tables have them.
      const secondary = rendered.networks
        .filter(({ role }) => role === 'secondary')
        .map(({ object }) => object.split(/[ /]/).at(-1) ?? '');
      const { problems } = await rendered.report();
      // Pods of other nodes wait for a node that this test does not have.
      expect(problems.filter(({ object }) => !object.startsWith('Pod '))).toEqual([]);
      const found: Way[] = [];
      for (const way of ways) {
        const from = await portOf(ovn, secondary, way.from);
        const to = /^[\d.]+$/.test(way.to)
          ? { address: way.to }
          : await portOf(ovn, secondary, way.to);
        const last = lastOutput(await stepsOf(ovn, from, to, way.port));
        const meant = way.expected.split(': ')[1];
        const target = meant === undefined ? to : await portOf(ovn, secondary, meant);
        const isReached = 'name' in target && last === target.name;
        found.push({
          ...way,
          expected: isReached ? (meant === undefined ? 'reached' : `reached: ${meant}`) : 'not',
        });
      }
      expect(found).toEqual(ways);
    });
  }, 120_000);
});

/** What leaves by the localnet port of the external switch, and as whom: the pod is on the default network, or its network's address is the host's to translate. */
function exitOf(steps: readonly string[], expected: string): string {
  if (!lastOutput(steps)?.startsWith('br-ex_')) return 'dropped';
  if (expected === 'leaves') return 'leaves';
  const [, source = 'itself'] =
    /^ct_snat\(ip4\.src=([\d.]+)\)/.exec(
      steps.findLast((step) => step.startsWith('ct_snat(')) ?? '',
    ) ?? [];
  if (source === ADDRESS) return 'leaves as its node';
  return expected.split(' ').includes(source) ? expected : `leaves as ${source}`;
}

describe.each(exitExamples)('$name', ({ folder, exits }) => {
  test('its table says what leaves the cluster, and as whom', async () => {
    await onNode(folder, async (ovn) => {
      const found: Way[] = [];
      for (const way of exits) {
        const from = await portOf(ovn, [], way.from);
        const steps = await stepsOf(ovn, from, { address: way.to }, way.port);
        found.push({ ...way, expected: exitOf(steps, way.expected) });
      }
      expect(found).toEqual(exits);
    });
  }, 120_000);
});

test('there are examples of what leaves', () => {
  expect(exitExamples.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['egress-firewall', 'egress-ip']),
  );
});
