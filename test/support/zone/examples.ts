/** The folders of examples/ whose README.md has a table of who reaches whom. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { checkout } from '../../../src/lab/paths.ts';

/** A line of such a table. */
export interface Way {
  readonly from: string;
  readonly to: string;
  readonly port: string;
  /** `reached`, `reached: shop/web`, or `not`; of what leaves the cluster see `exitsOf`. */
  readonly expected: string;
}

/** Lines of the table, without the marks of code. */
const linesOf = (folder: string, line: RegExp): readonly Way[] =>
  [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(line)].map(
    ([, from = '', to = '', port = '', expected = '']) => {
      const plain = (text: string): string => text.replaceAll('`', '').trim();
      return { from: plain(from), to: plain(to), port, expected: plain(expected) };
    },
  );

const waysOf = (folder: string): readonly Way[] =>
  linesOf(folder, /^\| (`[^|]+) \| ([^|]+) \| (\d+(?:\/udp)?) \| ((?:reached|not)[^|]*) \|$/gm);

/** Lines about what leaves the cluster: `leaves`, `leaves as its node`, `leaves as ADDRESS or ADDRESS`, `dropped`. */
const exitsOf = (folder: string): readonly Way[] =>
  linesOf(
    folder,
    /^\| (`[^|]+`) \| ([\d.]+) \| (\d+(?:\/udp)?) \| ((?:leaves|dropped)[^|]*) \|$/gm,
  );

/** Features that are off unless asked for, which the README.md says it needs. */
export const optionsOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    [
      ...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(
        /--(enable-[a-z-]+|network-names|secondary-gateways|tenant-connect-subnets|default-network-access)(?:=([\w./]+))?/g,
      ),
    ].map(([, option = '', value = 'true']) => [option, value]),
  );

/** The folders whose README.md has a table of what leaves the cluster. */
export const exitExamples = globSync(join(checkout, 'examples/*'))
  .map((folder) => ({ folder, name: basename(folder), exits: exitsOf(folder) }))
  .filter(({ exits }) => exits.length > 0);

export const examples = globSync(join(checkout, 'examples/*'))
  .map((folder) => ({ folder, name: basename(folder), ways: waysOf(folder) }))
  .filter(({ ways }) => ways.length > 0);

/** The chassis and the address of the node on which all pods of these examples are. */
export const CHASSIS = '00000001-0000-4000-8000-000000000000';
export const ADDRESS = '172.18.0.11';

/** That node, as its daemon says it. */
export const NODE = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'n1',
    labels: { 'k8s.ovn.org/egress-assignable': '' },
    annotations: {
      'k8s.ovn.org/node-chassis-id': CHASSIS,
      'k8s.ovn.org/node-encap-ips': `["${ADDRESS}"]`,
      'k8s.ovn.org/node-primary-ifaddr': `{"ipv4":"${ADDRESS}/16"}`,
      'k8s.ovn.org/host-cidrs': `["${ADDRESS}/16"]`,
      'k8s.ovn.org/l3-gateway-config': JSON.stringify({
        default: {
          mode: 'shared',
          'bridge-id': 'br-ex',
          'interface-id': 'br-ex_n1',
          'mac-address': '02:00:00:00:00:01',
          'ip-addresses': [`${ADDRESS}/16`],
          'next-hops': ['172.18.0.1'],
          'node-port-enable': 'true',
          'vlan-id': '0',
        },
      }),
    },
  },
});
