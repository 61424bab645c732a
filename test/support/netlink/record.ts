/**
 * Records what `ip` (iproute2) and `conntrack` send to the kernel and get from it, byte by byte: `node test/support/netlink/record.ts`, as root, with strace.
 * Each command runs in one new network namespace, so that nothing of the machine is in it. What a kernel without VRFs or dummy devices refuses was asked all the same.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from '../run/left-behind.ts';
import { ovsProgram } from '../host/ovs-programs.ts';

/** A command and what crossed: messages to the kernel and datagrams from it, as hexadecimal text. */
export interface Recording {
  readonly command: string;
  readonly sent: readonly string[];
  readonly received: readonly string[];
  /** What the program printed as JSON. */
  readonly shown?: unknown;
}

const SETUP = [
  'ip link set lo up',
  'ip link add name h0 mtu 1400 address 02:00:00:00:00:01 type veth peer name e0 mtu 1400 address 0a:58:0a:f4:01:05 netns $PEER',
  'ip link set dev h0 alias heddle-cni-0 group 974110',
  'ip link set dev h0 up',
  'ip address add 10.0.0.1/24 dev h0',
  'ip address add fd00::1/64 dev h0 nodad',
  'ip address add 169.254.0.2/17 dev h0 preferred_lft 0 proto 85',
  'ip address replace 192.0.2.1/24 broadcast 192.0.2.255 dev h0 label h0:1 metric 50 noprefixroute valid_lft 3000 preferred_lft 2000',
  'ip address replace 192.0.2.7 peer 192.0.2.8/32 dev h0',
  'ip address replace fd00::5/64 dev h0 metric 77 nodad noprefixroute',
  'ip route add default via 10.0.0.254 dev h0',
  'ip route add 10.1.0.0/16 dev h0 mtu 1300 src 10.0.0.1 proto 85',
  'ip route add unreachable default metric 4278198272 table 10007 proto 85',
  'ip route replace 10.2.0.0/16 proto 85 table 10007 nexthop via 10.0.0.7 dev h0 weight 2 nexthop via 10.0.0.8 dev h0 weight 1',
  'ip route add 10.3.0.0/16 via inet6 fd00::9 dev h0',
  'ip route add 10.4.0.0/16 via 10.9.9.9 dev h0 onlink',
  'ip route replace 10.5.0.0/16 dev h0 table 77 proto 16 scope global src 10.0.0.1 metric 9 mtu lock 1300 advmss 1200 initcwnd 20 congctl reno',
  'ip route add unreachable 10.6.0.0/16 table 10007 proto 85 metric 7',
  'ip -6 route replace fd05::/48 via fd00::7 dev h0 proto ra metric 300 expires 600 pref high mtu 1350',
  'ip -6 route add default via fd00::ff dev h0 table 10007 proto 85',
  'ip -6 route add fd01::/48 proto 85 nexthop via fd00::7 dev h0 nexthop via fd00::8 dev h0',
  'ip rule add priority 2000 fwmark 0x1002 lookup 10007 protocol 85',
  'ip rule add priority 2000 to 169.254.0.14/32 lookup 10007 protocol 85',
  'ip rule add priority 1000 l3mdev protocol 85',
  'ip rule add priority 3000 from 10.7.0.0/16 fwmark 0x10/0xf0 lookup 7',
  'ip rule add priority 3001 iif h0 sport 80 lookup 8',
  'ip -6 rule add priority 2000 to fd69::e/128 lookup 10007 protocol 85',
  'ip neighbour replace 10.0.0.9 lladdr 0a:58:a9:fe:00:0d dev h0 nud permanent protocol 85',
  'ip neighbour replace fd00::9 lladdr 0a:58:8f:28:41:67 dev h0 nud permanent',
  'ip link add name vx0 type vxlan id 7 dstport 4789 local 10.0.0.1 nolearning dev h0',
  'ip link add name vx1 type vxlan external dstport 4790',
  'ip link add name blue up type vrf table 10007',
  'ip link add name d0 type dummy',
  'ip link add link h0 name h0.7 type vlan id 7',
  'ip link set dev h0 mtu 1380',
  'ip link set dev h0 nomaster up',
  'ip link set dev h0.7 down',
];
const SHOWN = [
  'ip -json -details -Numeric link show',
  'ip -json -details -Numeric address show',
  'ip -4 -json -details -Numeric route show table all',
  'ip -6 -json -details -Numeric route show table all',
  'ip -4 -json -details -Numeric rule show',
  'ip -6 -json -details -Numeric rule show',
  'ip -json -details -Numeric neighbour show nud permanent',
];
const TAKEN = [
  'ip neighbour get 10.0.0.9 dev h0',
  'ip neighbour delete 10.0.0.9 dev h0',
  'ip rule delete priority 2000 fwmark 0x1002 lookup 10007 protocol 85',
  'ip route delete 10.1.0.0/16 dev h0',
  'ip route delete unreachable 10.6.0.0/16 table 10007 proto 85 metric 7',
  'ip -6 rule delete priority 2000 to fd69::e/128 lookup 10007 protocol 85',
  'ip address delete 10.0.0.1/24 dev h0',
  'ip address delete 192.0.2.7 peer 192.0.2.8/32 dev h0',
  'ip address delete fd00::5/64 dev h0',
  'ip link delete dev h0',
  'ip link delete dev absent',
];
const CONNECTIONS = [
  'conntrack --create --proto tcp --orig-src 10.0.0.1 --orig-dst 10.96.0.1 --sport 4000 --dport 80 --reply-src 10.1.0.7 --reply-dst 10.0.0.1 --reply-port-src 8080 --reply-port-dst 4000 --state ESTABLISHED --timeout 1000 --mark 5 --zone 64000',
  'conntrack --create --proto udp --orig-src fd00::1 --orig-dst fd96::a --sport 4000 --dport 53 --timeout 1000',
  'conntrack --create --proto icmp --orig-src 10.0.0.1 --orig-dst 10.0.0.2 --icmp-type 8 --icmp-code 0 --icmp-id 77 --timeout 1000',
  'conntrack --dump --family ipv4',
  'conntrack --dump --family ipv6',
  'conntrack --dump --family ipv4 --zone 64000',
  'conntrack --dump --family ipv4 --mark 5/0xff',
  'conntrack --dump --family ipv4 --orig-src 10.0.0.1 --orig-dst 10.96.0.1',
  'conntrack --delete --family ipv4 --proto icmp --orig-src 10.0.0.1',
  'conntrack --delete --family ipv4 --zone 64000 --proto tcp --orig-src 10.0.0.1 --orig-port-dst 80',
];

/** Buffers that strace shows, those of calls that send and those of calls that receive. */
function buffers(trace: string): Pick<Recording, 'sent' | 'received'> {
  const sent: string[] = [];
  const received: string[] = [];
  let into: string[] | undefined;
  let isNetlink = false;
  for (const line of trace.split('\n')) {
    const call = /^(?:\[pid +\d+\] )?(send|recv)(?:msg|to|from)?\(/.exec(line)?.[1];
    if (call !== undefined) {
      isNetlink = /AF_NETLINK|nlmsg_len/.test(line) && !line.includes('MSG_PEEK');
      into = call === 'send' ? sent : received;
      if (isNetlink && /^(?:sendto|recvfrom)/.test(line)) into.push('');
    } else if (isNetlink && line.startsWith(' * ')) into?.push('');
    const bytes = /^ \| [0-9a-f]{5} {2}((?:[0-9a-f]{2} {1,2})+)/.exec(line)?.[1];
    if (bytes !== undefined && isNetlink && into !== undefined)
      into[into.length - 1] += bytes.replaceAll(' ', '');
  }
  return { sent: sent.filter((one) => one !== ''), received: received.filter((one) => one !== '') };
}

const TRACE = join(ownFolder('heddle-netlink'), 'trace');

function record(holder: number, command: string, peer: number): Recording {
  const [name = '', ...words] = command.replace('$PEER', String(peer)).split(' ');
  const { command: loader, args } = ovsProgram(name);
  const calls = 'sendmsg,sendto,recvmsg,recvfrom';
  const ran = spawnSync(
    'nsenter',
    [
      `--net=/proc/${holder}/ns/net`,
      'strace',
      `--trace=${calls}`,
      '--write=all',
      '--read=all',
      '--string-limit=1',
      `--output=${TRACE}`,
      loader,
      ...args,
      ...words,
    ],
    { encoding: 'utf8' },
  );
  const trace = readFileSync(TRACE, 'utf8');
  const json = command.includes('-json') ? { shown: JSON.parse(ran.stdout) as unknown } : {};
  return { command, ...buffers(trace), ...json };
}

const holders = [1, 2].map(() => spawn('unshare', ['--net', 'sleep', '60'], { stdio: 'ignore' }));
await new Promise((resolve) => {
  setTimeout(resolve, 500);
});
const [holder = 0, peer = 0] = holders.map(({ pid }) => pid ?? 0);
for (const setting of ['default', 'all'])
  execFileSync('nsenter', [
    `--net=/proc/${holder}/ns/net`,
    'sh',
    '-c',
    `echo 1 > /proc/sys/net/ipv6/conf/${setting}/addr_gen_mode`,
  ]);
const all = [...SETUP, ...SHOWN, ...CONNECTIONS, ...TAKEN].map((command) =>
  record(holder, command, peer),
);
for (const one of holders) one.kill('SIGKILL');
writeFileSync(
  join(import.meta.dirname, '../../unit/netlink/recorded.json'),
  `${JSON.stringify(all, undefined, 1)}\n`,
);
