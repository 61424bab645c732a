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

describe.each(examples)('$name', ({ folder, ways }) => {
  test('its table says who reaches whom', async () => {
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
      // By the names of their objects, as tables have them.
      const secondary = rendered.networks
        .filter(({ role }) => role === 'secondary')
        .map(({ object }) => object.split(/[ /]/).at(-1) ?? '');
      const { problems } = await rendered.report();
      // Pods of other nodes wait for a node that this test does not have.
      expect(problems.filter(({ object }) => !object.startsWith('Pod '))).toEqual([]);
      execFileSync('bash', ['-s'], {
        input: [
          shellFunction('ovn-nbctl', ovn.northbound.remote),
          shellFunction('ovn-sbctl', ovn.southbound.remote),
          rendered.script(),
        ].join('\n'),
      });
      await ovn.nbctl('--wait=sb', 'sync');
      const found: Way[] = [];
      for (const way of ways) {
        const from = await portOf(ovn, secondary, way.from);
        const to = /^[\d.]+$/.test(way.to)
          ? { address: way.to }
          : await portOf(ovn, secondary, way.to);
        const [port, protocol = 'tcp'] = way.port.split('/');
        const packet = [
          `inport=="${from.name}"`,
          `eth.src==${from.mac}`,
          `eth.dst==${await nextHop(ovn, from, to)}`,
          `ip4.src==${from.address}`,
          `ip4.dst==${to.address}`,
          'ip.ttl==64',
          `${protocol}.dst==${port}`,
        ].join(' && ');
        const steps = await ovn.trace(
          from.switchName,
          packet,
          ...Array.from({ length: 8 }, () => '--ct=new'),
        );
        const [, last] =
          /^output\("([^"]+)"\)/.exec(steps.findLast((step) => step.startsWith('output')) ?? '') ??
          [];
        const meant = way.expected.split(': ')[1];
        const target = meant === undefined ? to : await portOf(ovn, secondary, meant);
        const isReached = 'name' in target && last === target.name;
        found.push({
          ...way,
          expected: isReached ? (meant === undefined ? 'reached' : `reached: ${meant}`) : 'not',
        });
      }
      expect(found).toEqual(ways);
    } finally {
      rmSync(manifests, { recursive: true });
    }
  }, 120_000);
});
