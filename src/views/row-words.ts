/** Rows of Northbound and Southbound in a line, as ovn-nbctl and ovn-sbctl show them, and whose they are where they are not ours. Pure. */
import { mapIn, textIn, type LookedUpRow } from '../databases/row-lookup.ts';
import { SERVICE_ID } from '../topology/rows/object-ids.ts';

/** Of more the rest is left out. */
const LONGEST = 400;

const shortened = (text: string): string =>
  text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} …`;

const listIn = ({ columns }: LookedUpRow, column: string): string => {
  const value = columns[column];
  return Array.isArray(value) ? value.join(' ') : textIn({ columns } as LookedUpRow, column);
};

/** `ls_out_acl_eval`, of a logical flow; '' where northd does not say. */
export const stageOf = (flow: LookedUpRow): string =>
  mapIn(flow, 'external_ids')['stage-name'] ?? '';

const TEXTS: Readonly<Record<string, (row: LookedUpRow) => string>> = {
  Logical_Flow: (row) =>
    `${stageOf(row)}, priority ${textIn(row, 'priority')}: ${textIn(row, 'match')} → ${textIn(row, 'actions')}`,
  ACL: (row) =>
    `${textIn(row, 'direction')}, tier ${textIn(row, 'tier')}, priority ${textIn(row, 'priority')}: ${textIn(row, 'match')} → ${textIn(row, 'action')}`,
  QoS: (row) =>
    `${textIn(row, 'direction')}, priority ${textIn(row, 'priority')}: ${textIn(row, 'match')}`,
  Logical_Router_Policy: (row) =>
    `priority ${textIn(row, 'priority')}: ${textIn(row, 'match')} → ${textIn(row, 'action')} ${listIn(row, 'nexthops')}`,
  Logical_Router_Static_Route: (row) =>
    `${textIn(row, 'ip_prefix')} → ${textIn(row, 'nexthop')}${textIn(row, 'policy') === 'src-ip' ? ', by source' : ''}`,
  NAT: (row) =>
    `${textIn(row, 'type')}: ${textIn(row, 'logical_ip')} ↔ ${textIn(row, 'external_ip')}`,
  Load_Balancer: (row) =>
    Object.entries(mapIn(row, 'vips'))
      .map(([vip, backends]) => `${vip} → ${backends === '' ? 'nobody' : backends}`)
      .join('; '),
  Logical_Switch_Port: (row) => `${textIn(row, 'type')} ${listIn(row, 'addresses')}`,
  Logical_Router_Port: (row) => `${textIn(row, 'mac')} ${listIn(row, 'networks')}`,
  Port_Binding: (row) =>
    `${textIn(row, 'type') || 'a workload'} port, tunnel key ${textIn(row, 'tunnel_key')}`,
  Datapath_Binding: (row) => `tunnel key ${textIn(row, 'tunnel_key')}`,
  MAC_Binding: (row) => `${textIn(row, 'ip')} is at ${textIn(row, 'mac')}`,
  Static_MAC_Binding: (row) => `${textIn(row, 'ip')} is at ${textIn(row, 'mac')}`,
  Multicast_Group: (row) => textIn(row, 'name'),
};

/** What the row says; '' for tables whose rows say it by their names. */
export const rowText = (row: LookedUpRow): string =>
  shortened((TEXTS[row.table]?.(row) ?? '').trim());

/** How people call the row, where it has a name. */
export const rowName = (row: LookedUpRow): string =>
  ['name', 'logical_port', 'chassis_name'].map((column) => textIn(row, column)).find(Boolean) ??
  mapIn(row, 'external_ids')['name'] ??
  '';

const ofReference = (ids: Readonly<Record<string, string>>): boolean =>
  Object.keys(ids).some((key) => key.startsWith('k8s.ovn.org/') || key === SERVICE_ID);

/** Tables that OVN's own programs write in a Northbound database. */
const OF_SETTINGS = ['NB_Global', 'SB_Global', 'Connection', 'SSL'];

/** Who wrote a row without our mark, by what it carries. */
export function foreignWriter(row: LookedUpRow): string {
  const ids = mapIn(row, 'external_ids');
  const shown = Object.entries(ids)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
  const carried = shown === '' ? '' : shortened(` (${shown})`);
  if (OF_SETTINGS.includes(row.table)) return 'a setting of the OVN database itself';
  if (ofReference(ids)) return `an ovn-kubernetes, by its ids${carried}`;
  if (ids['vendor'] === 'kube-ovn') return `Kube-OVN, by its ids${carried}`;
  if (Object.keys(ids).some((key) => key.startsWith('neutron:')))
    return `OpenStack Neutron, by its ids${carried}`;
  return `it has no mark of Heddle's: another program, or somebody by hand${carried}`;
}

/** Protocols of routes and rules (linux/rtnetlink.h, RTPROT_*; iproute2, rt_protos). */
const PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ['kernel', 'the kernel by itself'],
  ['2', 'the kernel by itself'],
  ['boot', 'somebody by hand, or a script'],
  ['3', 'somebody by hand, or a script'],
  ['', 'it names no protocol: the kernel by itself, somebody by hand, or a script'],
  ['static', 'an administrator'],
  ['4', 'an administrator'],
  ['ra', 'router advertisements'],
  ['9', 'router advertisements'],
  ['dhcp', 'a DHCP client'],
  ['16', 'a DHCP client'],
  ['zebra', 'FRR'],
  ['11', 'FRR'],
  ['bird', 'BIRD'],
  ['12', 'BIRD'],
  ['keepalived', 'keepalived'],
  ['18', 'keepalived'],
  ['bgp', 'a BGP daemon'],
  ['186', 'a BGP daemon'],
  ['ospf', 'an OSPF daemon'],
  ['188', 'an OSPF daemon'],
]);

/** Who made a route or rule, by its protocol. */
export const foreignProtocol = (protocol: string): string => {
  const who = PROTOCOLS.get(protocol) ?? 'another program';
  return protocol === '' ? who : `protocol ${protocol}: ${who}`;
};
