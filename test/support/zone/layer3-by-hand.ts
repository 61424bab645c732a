/**
 * A layer3 network written straight into the zones' databases with ovn-nbctl: to test the lab by itself, with no code of
 * ours between it and OVN.
 */
import { outputInside } from '../../../src/lab/exec.ts';
import { chassisId } from '../lab/chassis-id.ts';
import { nodeNames } from '../../../src/lab/paths.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { nodeAddress } from '../../../src/lab/status.ts';
import type { LabPod } from '../../../src/lab/lab-pods.ts';

export interface HandMadeNetwork {
  /** In front of every name; empty for the cluster's default network. */
  readonly prefix: string;
  /** Second octet of 10.X.<node>.0/24. */
  readonly octet: number;
  readonly transitKey: number;
}

const hex = (n: number): string => n.toString(16).padStart(2, '0');
export const macOf = (address: string): string =>
  `0a:58:${address
    .split('.')
    .map((octet) => hex(Number(octet)))
    .join(':')}`;

/** Tells each zone of the other nodes' chassis. */
export async function writeRemoteChassis(lab: LabRecord): Promise<void> {
  for (const node of nodeNames(lab.nodes)) {
    const others = nodeNames(lab.nodes).filter((other) => other !== node);
    const args = others.flatMap((other) => [
      '--',
      `--id=@e${other}`,
      'create',
      'Encap',
      `chassis_name=${chassisId(other)}`,
      `ip=${nodeAddress(other)}`,
      'type=geneve',
      'options:csum=true',
      '--',
      'create',
      'Chassis',
      `name=${chassisId(other)}`,
      `hostname=${other}`,
      'other_config:is-remote=true',
      `encaps=@e${other}`,
    ]);
    await outputInside(lab, ['on', node, 'ovn-sbctl', ...args.slice(1)]);
  }
}

/** Switch and router on every node, a transit switch between them, and the ports of `pods` on the network. */
export async function writeNetwork(
  lab: LabRecord,
  { prefix, octet, transitKey }: HandMadeNetwork,
  nadKey: string,
  pods: readonly LabPod[],
): Promise<void> {
  const names = nodeNames(lab.nodes);
  const router = `${prefix}ovn_cluster_router`;
  const transit = `${prefix}transit_switch`;
  for (const [index, node] of names.entries()) {
    const i = index + 1;
    const nodeSwitch = `${prefix}${node}`;
    const commands: string[][] = [
      ['lr-add', router],
      ['ls-add', nodeSwitch],
      [
        'lrp-add',
        router,
        `rtos-${nodeSwitch}`,
        macOf(`10.${octet}.${i}.1`),
        `10.${octet}.${i}.1/24`,
      ],
      ['lsp-add', nodeSwitch, `stor-${nodeSwitch}`],
      ['lsp-set-type', `stor-${nodeSwitch}`, 'router'],
      ['lsp-set-addresses', `stor-${nodeSwitch}`, 'router'],
      ['lsp-set-options', `stor-${nodeSwitch}`, `router-port=rtos-${nodeSwitch}`],
      ['ls-add', transit],
      [
        'set',
        'logical_switch',
        transit,
        `other_config:interconn-ts=${transit}`,
        `other_config:requested-tnl-key=${transitKey}`,
      ],
      ['lrp-add', router, `${prefix}rtots-${node}`, macOf(`100.88.0.${i}`), `100.88.0.${i}/16`],
    ];
    for (const [other, peer] of names.entries()) {
      const j = other + 1;
      const port = `${prefix}tstor-${peer}`;
      commands.push(['lsp-add', transit, port]);
      if (peer === node)
        commands.push(
          ['lsp-set-type', port, 'router'],
          ['lsp-set-addresses', port, 'router'],
          ['lsp-set-options', port, `router-port=${prefix}rtots-${node}`, `requested-tnl-key=${j}`],
        );
      else
        commands.push(
          ['lsp-set-type', port, 'remote'],
          ['lsp-set-addresses', port, `${macOf(`100.88.0.${j}`)} 100.88.0.${j}/16`],
          [
            'lsp-set-options',
            port,
            `requested-tnl-key=${j}`,
            `requested-chassis=${chassisId(peer)}`,
          ],
          ['lr-route-add', router, `10.${octet}.${j}.0/24`, `100.88.0.${j}`],
        );
    }
    for (const pod of pods.filter((pod) => pod.node === node))
      for (const link of pod.interfaces.filter((link) => link.nadKey === nadKey)) {
        const port = link.externalIds['iface-id'] ?? '';
        const address = `${link.mac} ${link.addresses.map((a) => a.split('/')[0]).join(' ')}`;
        commands.push(
          ['lsp-add', nodeSwitch, port],
          ['lsp-set-addresses', port, address],
          ['lsp-set-port-security', port, address],
          [
            'lsp-set-options',
            port,
            `requested-chassis=${chassisId(node)}`,
            `iface-id-ver=${link.externalIds['iface-id-ver'] ?? ''}`,
          ],
        );
      }
    const args = commands.flatMap((command) => ['--', ...command]);
    await outputInside(lab, ['on', node, 'ovn-nbctl', ...args.slice(1)]);
  }
}
