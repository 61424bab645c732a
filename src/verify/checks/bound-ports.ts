/** What ovn-controller takes from a binding alone: key on the wire, VLAN and physical network, and the addresses that a pod may send with. All are as Northbound has them. */
import { list, pairs, text, type Row } from '../rows.ts';
import type { Findings } from '../findings.ts';
import { rowText, type Datapaths } from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';

/** Ports of switches and routers of Northbound by their names. */
export const northboundPorts = ({ all }: Datapaths): ReadonlyMap<string, Row> =>
  new Map(all.flatMap(({ ports }) => ports.map((port) => [text(port, 'name'), port])));

export function checkBoundPort(
  row: Row,
  wanted: Row | undefined,
  intent: Intent,
  network: VerifiedNetwork | undefined,
  findings: Findings,
): void {
  if (wanted === undefined) return;
  const name = text(row, 'logical_port');
  const pod = intent.ports.get(name);
  const wrong = (check: 'southbound' | 'identities', what: string): void => {
    findings.wrong(
      check,
      rowText('Port_Binding', name, 'Southbound'),
      what,
      pod === undefined ? intent.objectOf(network?.name) : `Pod ${pod.pod}`,
      [network?.name],
    );
  };
  const options = pairs(wanted, 'options');
  const [key, asked] = [text(row, 'tunnel_key'), options['requested-tnl-key']];
  if (asked !== undefined && asked !== key)
    wrong('identities', `has tunnel key ${key}, and Northbound asks for ${asked}`);
  if (text(row, 'type') === 'localnet') physical(row, wanted, options['network_name'] ?? '', wrong);
  const column = 'port_security';
  if (row[column] === undefined || wanted[column] === undefined) return;
  const [has, may] = [row, wanted].map((one) => list(one, column).toSorted().join(', '));
  if (has !== may)
    wrong(
      'southbound',
      `may send with ${has === '' ? 'any address' : has}, and Northbound has ${may === '' ? 'any' : may}`,
    );
}

function physical(
  row: Row,
  wanted: Row,
  name: string,
  wrong: (check: 'southbound', what: string) => void,
): void {
  const has = pairs(row, 'options')['network_name'] ?? '';
  if (has !== name)
    wrong('southbound', `leads to physical network ${has}, and Northbound has ${name}`);
  const vlan = list(wanted, 'tag_request')[0] ?? list(wanted, 'tag')[0] ?? '0';
  const tag = list(row, 'tag')[0] ?? '0';
  if (row['tag'] !== undefined && tag !== vlan)
    wrong('southbound', `leads to VLAN ${tag}, and Northbound has ${vlan}`);
}
