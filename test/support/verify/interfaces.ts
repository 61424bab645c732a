/** Bridges of a node in the database of Open vSwitch, with their interfaces. */
import type { Tables } from '../../../src/verify/rows.ts';

export interface TestInterface {
  readonly bridge: string;
  readonly name: string;
  readonly number: number;
  readonly type?: string;
  /** Logical port. */
  readonly logical?: string;
  readonly options?: Readonly<Record<string, string>>;
}

export function openVswitchOf(interfaces: readonly TestInterface[]): Tables {
  const rows = (kind: string, { bridge, name }: TestInterface): unknown => [
    'uuid',
    `${kind} ${bridge} ${name}`,
  ];
  const bridges = Map.groupBy(interfaces, ({ bridge }) => bridge);
  return new Map(
    Object.entries({
      Bridge: [...bridges].map(([name, ports]) => ({
        _uuid: ['uuid', name],
        name,
        ports: ['set', ports.map((one) => rows('port', one))],
      })),
      Port: interfaces.map((one) => ({
        _uuid: rows('port', one),
        name: one.name,
        interfaces: rows('interface', one),
      })),
      Interface: interfaces.map((one) => ({
        _uuid: rows('interface', one),
        name: one.name,
        type: one.type ?? '',
        ofport: one.number,
        options: ['map', Object.entries(one.options ?? {})],
        external_ids: ['map', one.logical === undefined ? [] : [['iface-id', one.logical]]],
      })),
    }),
  );
}

/** Two pods, a management port, tunnels, and an external bridge with its uplink. */
export const INTERFACES: readonly TestInterface[] = [
  { bridge: 'br-int', name: 'veth-blue', number: 7, logical: 'blue.net_blue_a' },
  { bridge: 'br-int', name: 'veth-green', number: 8, logical: 'green.net_green_a' },
  { bridge: 'br-int', name: 'mp1', number: 9, type: 'internal', logical: 'k8s-blue_net_n1' },
  { bridge: 'br-int', name: 'ovn-n2-0', number: 1, type: 'geneve' },
  { bridge: 'breth0', name: 'breth0', number: 65_534, type: 'internal' },
  { bridge: 'breth0', name: 'eth0', number: 1 },
];
