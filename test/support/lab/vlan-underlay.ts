/** A second physical network of a lab: a cable to each node, and on the last node's end of it a switch with VLANs and a host on each. */
import { outputInside } from '../../../src/lab/exec.ts';
import { nodeNames } from '../../../src/lab/paths.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

const BRIDGE = 'br-lan';
const CABLE = 'eth1';

export interface OutsideHost {
  readonly name: string;
  readonly vlan: number;
  /** With prefix length. */
  readonly address: string;
}

/**
 * Maps physical network `name` to a bridge of its own on every node but the last, whose bridge of that name stands for a switch outside:
 * `hosts` are network namespaces at access ports of it.
 */
export async function vlanUnderlay(
  lab: LabRecord,
  name: string,
  hosts: readonly OutsideHost[],
): Promise<void> {
  const run = (...argv: readonly string[]): Promise<string> => outputInside(lab, argv);
  const nodes = nodeNames(lab.nodes);
  const outside = nodes.at(-1) ?? '';
  await run('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
  await run('ip', 'link', 'set', BRIDGE, 'up');
  for (const node of nodes) {
    const end = `lan-${node}`;
    await run('ip', 'link', 'add', end, 'type', 'veth', 'peer', 'name', CABLE, 'netns', node);
    await run('ip', 'link', 'set', end, 'master', BRIDGE, 'up');
    await run('ip', '-n', node, 'link', 'set', CABLE, 'up');
    await run('on', node, 'ovs-vsctl', ...bridgeWith(lab, CABLE));
    if (node !== outside)
      await run(
        'on',
        node,
        'ovs-vsctl',
        'set',
        'Open_vSwitch',
        '.',
        `external_ids:ovn-bridge-mappings="physnet:breth0,${name}:${BRIDGE}"`,
      );
  }
  for (const host of hosts) {
    const port = `p-${host.name}`;
    await run('ip', 'netns', 'add', host.name);
    await run(
      'ip',
      'link',
      'add',
      'eth0',
      'netns',
      host.name,
      'type',
      'veth',
      'peer',
      'name',
      port,
      'netns',
      outside,
    );
    await run('ip', '-n', outside, 'link', 'set', port, 'up');
    await run('ip', '-n', host.name, 'addr', 'add', host.address, 'dev', 'eth0');
    await run('ip', '-n', host.name, 'link', 'set', 'eth0', 'up');
    await run('on', outside, 'ovs-vsctl', 'add-port', BRIDGE, port, `tag=${host.vlan}`);
  }
}

/** Arguments that make the bridge, which learns as any switch does. */
const bridgeWith = ({ datapath }: LabRecord, port: string): string[] => [
  'add-br',
  BRIDGE,
  '--',
  'set',
  'bridge',
  BRIDGE,
  `datapath_type=${datapath}`,
  'fail-mode=standalone',
  '--',
  'add-port',
  BRIDGE,
  port,
];
