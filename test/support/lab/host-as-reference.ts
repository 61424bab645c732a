/**
 * A node's host as an ovn-kubernetes would have left it, in shared gateway mode: the flows of the external bridge and the table of nftables of the same
 * objects as it writes them (docs/bridge.md, docs/reference/node.md §4.5), with nothing in them that is ours alone.
 */
import { outputInside } from '../../../src/lab/exec.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';

const BRIDGE = 'breth0';
/** One cookie for flows that never change, and another one for those about the path's MTU, of each network and node; none says for which object they are there. */
const [COOKIE, PATH_MTU] = ['0xdeff105', '0x304'];

/** Flows that ovn-kubernetes has not. */
const OURS: readonly RegExp[] = [
  /priority=(710|700|600|570|560|204|106|104|60|2|1),/,
  /priority=205,.*nw_src=/,
  // What the default network sends with an egress address has no mark there, and leaves as all of it does.
  /pkt_mark=0x3f5/,
  /priority=110,.*(actions=learn|icmp_code=3)/,
  /priority=103,ip,in_port=2,nw_src=(100|169)\./,
  /^table=1,priority=50,/,
  /^table=(6|7|8|12|13|20),/,
];

function flowsAsReference(listed: string): readonly string[] {
  const found = listed.split('\n').flatMap((line) => {
    const [, flow = ''] = /cookie=\w+, .*?(table=\d+, .*)$/.exec(line) ?? [];
    const text = flow
      .replace(/n_packets=.*n_bytes=\d+, /, '')
      .replace(/(idle|hard)_age=\d+, /g, '')
      .replaceAll(', ', ',');
    return text === '' ? [] : [text];
  });
  const ports = [
    ...new Set(found.flatMap((text) => /in_port=([2-9])\b/.exec(text)?.[1] ?? [])),
  ].toSorted();
  const mac = /dl_dst=([\da-f:]{17})/.exec(listed)?.[1] ?? '';
  const all = ports.map((port) => `output:${port}`).join(',');
  const kept = found
    .filter((text) => !OURS.some((one) => one.test(text)))
    .map((text) =>
      text
        .replace(/(actions=ct\(commit,)table=8,(.*)$/, '$1$2,output:1')
        .replace('set_field:0->pkt_mark,', '')
        .replace(/priority=11,(dl_dst=.*)actions=.*/, `priority=10,$1actions=${all},NORMAL`)
        .replace(/(priority=14,.*)actions=.*/, `$1actions=${all},FLOOD`),
    );
  const nodes = found.flatMap((text) => /^table=13,.*nw_dst=([\d.]+)/.exec(text)?.[1] ?? []);
  const pathMtu = ports.flatMap((port) =>
    nodes.map(
      (node) =>
        `table=0,priority=700,icmp,in_port=${port},nw_dst=${node},icmp_type=3,icmp_code=4 actions=drop`,
    ),
  );
  const more = [
    `table=0,priority=205,udp,in_port=1,dl_dst=${mac},tp_dst=6081 actions=LOCAL`,
    `table=0,priority=11,arp,in_port=1,dl_dst=ff:ff:ff:ff:ff:ff actions=${all},NORMAL`,
    ...ports
      .slice(1)
      .flatMap((port) => [
        `table=0,priority=10,in_port=${port},dl_src=${mac} actions=NORMAL`,
        `table=0,priority=9,in_port=${port} actions=drop`,
      ]),
  ];
  // Of a service with that address, by a cookie of its own.
  const ofService =
    'cookie=0x32e7a4def8265825,table=0,priority=110,tcp,in_port=1,nw_dst=203.0.113.240,tp_dst=80 actions=output:2';
  return [
    ...[...kept, ...more].map((text) => `cookie=${COOKIE},${text}`),
    ...pathMtu.map((text) => `cookie=${PATH_MTU},${text}`),
    ofService,
  ];
}

/** Chains of ovn-kubernetes; it has none by other names. */
const CHAINS =
  /^(services|udn-service|udn-mark-|udn-isolation|mgmtport-snat|egress-services|egress-ip-(snat|sec-filter)|no-pmtud|ovn-kube)/;
/** Sets and maps that it has not, and rules that speak of them. */
const SETS =
  /\b(local-node-ips|udn-mark-cluster-ips|udn-forwarded|egress-ip-(forwarded|addresses|here)|tunnel-peers|udn-host-ports|udn-service-ips|egress-service-(sources|pods|networks))\b/;

function rulesetAsReference(listed: string): string {
  const blocks = listed
    .replaceAll(/ comment "[^"]*"/g, '')
    .split(/^(?=\t(?:set|map|chain) )/m)
    .slice(1)
    .map((block) => block.replace(/^}\s*$/m, ''));
  const kept = blocks.filter((block) => {
    const [, kind = '', name = ''] = /^\t(\w+) (\S+)/.exec(block) ?? [];
    return kind === 'chain' ? CHAINS.test(name) : !SETS.test(name);
  });
  const table = 'table inet ovn-kubernetes';
  const text = kept
    .map((block) =>
      block
        .split('\n')
        .filter((line) => !SETS.test(line) && !line.includes('iif != 0'))
        .join('\n')
        .replaceAll('iifname != "ovn-k8s-mp*" jump', 'jump'),
    )
    .join('');
  return `${table}\ndelete ${table}\n${table} {\n${text}}\n`;
}

/** Makes bridge and nftables of a node those of an ovn-kubernetes, each in one step. */
export async function leaveHostAsReference(lab: LabRecord, node: string): Promise<void> {
  const on = (...words: readonly string[]): Promise<string> =>
    outputInside(lab, ['on', node, ...words]);
  const flows = flowsAsReference(
    await on('ovs-ofctl', '-O', 'OpenFlow13', '--no-names', 'dump-flows', BRIDGE),
  );
  const rules = rulesetAsReference(await on('nft', 'list', 'table', 'inet', 'ovn-kubernetes'));
  const given = (text: string, command: string): Promise<string> =>
    on('sh', '-c', `printf %s "$1" | ${command}`, 'sh', text);
  await given(flows.join('\n'), `ovs-ofctl -O OpenFlow13 --bundle replace-flows ${BRIDGE} -`);
  await given(rules, 'nft -f -');
}

/** Flows and chains of the host that are ovn-kubernetes' alone. */
export async function leftOnHost(lab: LabRecord, node: string): Promise<readonly string[]> {
  const on = (...words: readonly string[]): Promise<string> =>
    outputInside(lab, ['on', node, ...words]);
  const flows = await on('ovs-ofctl', '-O', 'OpenFlow13', '--no-names', 'dump-flows', BRIDGE);
  const rules = await on('nft', 'list', 'table', 'inet', 'ovn-kubernetes');
  return [
    ...flows
      .split('\n')
      .filter((line) =>
        /FLOOD$|cookie=0x304\b|priority=11,arp|ct\(commit,zone=64000,nat|priority=110,tcp,in_port=1/.test(
          line,
        ),
      ),
    // Each of ours says for which object it is there.
    ...rules
      .split('\n')
      .filter(
        (line) => /^\t\t(ip6? |jump|snat|dnat|meta )/.test(line) && !line.includes('comment'),
      ),
  ];
}
