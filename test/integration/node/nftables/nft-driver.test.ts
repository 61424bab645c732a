import { execFileSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Cgroup } from '../../../../src/node/nftables/cgroups.ts';
import { KUBELET_CGROUP, PODS_CGROUP } from '../../../../src/node/nftables/cgroup-names.ts';
import type { CniInterface } from '../../../../src/cni/protocol/result.ts';
import { NftDriver } from '../../../../src/node/nftables/nft-driver.ts';
import type { HostProblem } from '../../../../src/node/reconcile/host-plan.ts';
import { NftProgram } from '../../../../src/node/nftables/nft-program.ts';
import { PodLinks } from '../../../../src/cni/links/pod-links.ts';
import { TestCgroup } from '../../../support/host/cgroup.ts';
import { connect, Listener } from '../../../support/host/connections.ts';
import { HostUnits } from '../../../support/host/host-units.ts';
import { arrivals } from '../../../support/lab/datagrams.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { nftIn, runNft } from '../../../support/host/nft-program.ts';
import { nftZone, sharedNftZone } from '../../../support/host/nft-zone.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { until } from '../../../support/run/until.ts';
import { networkName, type Zone, type ZoneNetwork } from '../../../support/zone/zones.ts';

const OURS = 'list table inet ovn-kubernetes';

/** The kernel of this machine, and nft as Debian 13 has it. */
describe.skipIf(whyNoNamespace !== undefined)('our nftables table', () => {
  let namespace: NetworkNamespace;
  let nft: NftProgram;
  let driver: NftDriver;
  let units: HostUnits;
  let drifts: number;
  let kubelet: Cgroup | undefined;

  const settled = async (
    isComplete = true,
  ): Promise<{ applied: number; problems: readonly HostProblem[] }> => {
    let applied = 0;
    for (let round = 0; round < 5; round += 1) {
      await driver.refresh(performance.now());
      const plan = driver.plan(performance.now(), isComplete ? undefined : () => true);
      if (plan.isEmpty) return { applied, problems: plan.problems };
      applied += (await driver.apply(plan, performance.now())).applied;
    }
    throw new Error('the table is not as it should be after 5 rounds');
  };
  const refused = ({ problems }: { problems: readonly HostProblem[] }): string[] =>
    problems.filter(({ kind }) => kind !== 'awaited').map(({ message }) => message);

  beforeEach(async () => {
    namespace = await NetworkNamespace.create();
    nft = nftIn(namespace);
    drifts = 0;
    kubelet = undefined;
    driver = new NftDriver({
      nft,
      cgroups: { find: (name) => (name === KUBELET_CGROUP ? kubelet : undefined) },
      onDrift: () => (drifts += 1),
    });
    await driver.start();
    units = new HostUnits(driver);
  });
  afterEach(() => {
    driver[Symbol.dispose]();
    namespace[Symbol.dispose]();
  });

  test('is made at once, and found right afterwards', async () => {
    units.want(nftZone);
    const first = await settled();
    expect(refused(first)).toEqual([]);
    expect(first.applied).toBeGreaterThan(60);
    expect(await settled()).toMatchObject({ applied: 0 });
    const text = runNft(nft, OURS);
    expect(text).toContain('tcp . 30080 comment "Service blue/outside" : jump udn-mark-0x1001');
    expect(text).toContain(
      'meta mark set 0x00001001 comment "UserDefinedNetwork blue/blue (nft/network-mark mark)"',
    );
    // A daemon that starts again finds it right.
    driver[Symbol.dispose]();
    driver = new NftDriver({ nft, cgroups: { find: () => undefined } });
    new HostUnits(driver).want(nftZone);
    expect(await settled()).toMatchObject({ applied: 0 });
  });

  test('comes back when the rule set was flushed, as soon as that is heard of', async () => {
    units.want(nftZone);
    await settled();
    const before = runNft(nft, OURS);
    await driver.refresh(performance.now());
    drifts = 0;
    runNft(nft, 'flush ruleset');
    await until('the flush to be heard of', () => drifts > 0);
    await settled();
    expect(runNft(nft, OURS)).toBe(before);
  });

  test('is repaired where somebody changed it, and what others have stays', async () => {
    units.want(nftZone);
    await settled();
    const before = runNft(nft, OURS);
    const others =
      'table inet other {\n\tchain services {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n\t\taccept\n\t}\n}\n';
    runNft(nft, '-f -', others);
    runNft(
      nft,
      '-f -',
      [
        'flush chain inet ovn-kubernetes udn-isolation',
        'insert rule inet ovn-kubernetes services accept',
        'add chain inet ovn-kubernetes stray',
        'add rule inet ovn-kubernetes services jump stray',
        // As a later release may have it: a chain, and a map that its rules use.
        'add map inet ovn-kubernetes later { type mark : ipv4_addr; }',
        'add chain inet ovn-kubernetes later { type nat hook postrouting priority 100; policy accept; }',
        'add rule inet ovn-kubernetes later ip daddr 10.0.0.0/8 snat ip to meta mark map @later',
        'delete element inet ovn-kubernetes nodeports-v4 { tcp . 30080 }',
        'add element inet ovn-kubernetes nodeports-v4 { tcp . 30080 : 10.96.0.99 . 80, tcp . 1 : 10.96.0.1 . 1 }',
      ].join('\n'),
    );
    await until('the changes to be heard of', async () => (await settled()).applied > 0);
    expect(runNft(nft, OURS)).toBe(before);
    units.want(undefined);
    await settled();
    expect(runNft(nft, 'list ruleset')).toBe(others);
  });

  test('loses nothing before everything was built, and everything of ours when nothing is wanted', async () => {
    units.want(nftZone);
    await settled();
    const before = runNft(nft, OURS);
    units.want(undefined);
    expect(await settled(false)).toMatchObject({ applied: 0 });
    expect(runNft(nft, OURS)).toBe(before);
    await settled();
    expect(runNft(nft, 'list ruleset')).toBe('');
  });

  test('is made anew when somebody made a chain of ours another one', async () => {
    runNft(
      nft,
      '-f -',
      'table inet ovn-kubernetes {\n chain udn-isolation {\n type filter hook input priority 0; policy drop;\n }\n}\n',
    );
    units.want(nftZone);
    expect(refused(await settled())).toEqual([]);
    expect(runNft(nft, OURS)).not.toContain('policy drop');
  });

  test('packets of host processes: node ports lead to services, pods are reached at ports that they opened alone', async () => {
    for (const line of [
      'link add name uplink type bridge',
      'link set dev uplink up',
      // A node, what stands for a service's endpoint, and the pod.
      'address add 172.18.0.3/16 dev uplink',
      'address add 10.96.1.3/32 dev uplink',
      'address add 10.244.0.5/32 dev uplink',
      'route add 5.5.5.5/32 dev uplink',
    ])
      namespace.ip(line);
    units.want(nftZone);
    await settled();
    using service = new Listener(namespace, '10.96.1.3', 80);
    await until('the service to listen', () => service.isReady);
    expect(connect(namespace, '172.18.0.3', '172.18.0.3', 30_081)).toBe('connected');
    expect(connect(namespace, '172.18.0.3', '5.5.5.5', 80)).toBe('connected');
    // Nobody listens there, and the pod says so.
    expect(connect(namespace, '172.18.0.3', '10.244.0.5', 8080)).toBe('ECONNREFUSED');
    expect(connect(namespace, '172.18.0.3', '10.244.0.5', 8081)).toBe('no answer');
  });

  test("the tunnels' port is for nodes: datagrams of others, whole and in pieces, are dropped and counted", async () => {
    const [own4, own6] = ['172.18.0.3', 'fc00:f853::3'];
    const peer = { v4: '172.18.0.4', v6: 'fc00:f853::4' } as const;
    const stranger = { v4: '203.0.113.9', v6: 'fd00:bad::9' } as const;
    for (const address of [own4, peer.v4, stranger.v4])
      namespace.ip(`address add ${address}/32 dev lo`);
    for (const address of [own6, peer.v6, stranger.v6])
      namespace.ip(`address add ${address}/128 dev lo`);
    // A datagram of 3,000 bytes goes in pieces.
    namespace.ip('link set dev lo mtu 1500');
    const [remote] = nftZone.remoteNodes;
    if (remote === undefined) throw new Error('the zone has no other node');
    const zone = (tunnelSources: readonly string[] = []): Zone => ({
      ...nftZone,
      settings: { ...nftZone.settings, tunnelSources },
      remoteNodes: [{ ...remote, encapIps: Object.values(peer) }],
    });
    const all = [
      ['peer', own4, peer.v4],
      ['peer', own6, peer.v6],
      ['stranger', own4, stranger.v4],
      ['stranger', own6, stranger.v6],
    ].flatMap(([who = '', to = '', from = '']) =>
      [10, 3000].map((size) => ({ name: `${who} ${from} ${size}`, from, to, port: 6081, size })),
    );
    const ofPeers = all.filter(({ name }) => name.startsWith('peer')).map(({ name }) => name);
    const dropped = (): number =>
      Number(
        /counter packets (\d+)/.exec(
          runNft(nft, `list chain inet ovn-kubernetes tunnel-sources`),
        )?.[1],
      );
    units.want(zone());
    expect(refused(await settled())).toEqual([]);
    expect(arrivals(namespace, all)).toEqual(ofPeers);
    expect(dropped()).toBe(4);
    // What was counted does not make it another rule.
    expect(await settled()).toMatchObject({ applied: 0 });
    await driver.refreshCounters();
    expect(driver.counted('tunnel-sources')).toBe(4);
    units.want(zone(['203.0.113.0/24', stranger.v6]));
    expect(refused(await settled())).toEqual([]);
    expect(arrivals(namespace, all)).toEqual(all.map(({ name }) => name));
    // A node that is gone is a stranger.
    units.want({ ...zone(), remoteNodes: [] });
    await settled();
    expect(arrivals(namespace, all)).toEqual([]);
  });

  test('without nft nothing is done, and that is said', async () => {
    const missing = new NftProgram({ program: ['/nowhere/nft'] });
    using without = new NftDriver({ nft: missing, cgroups: { find: () => undefined } });
    new HostUnits(without).want(nftZone);
    await without.start();
    const { isEmpty, problems } = without.plan(0);
    expect(isEmpty).toBe(true);
    expect(problems.map(({ message }) => message).join()).toContain('install nftables');
  });

  test('what nft refuses harms its own chain alone', async () => {
    units.want(nftZone, (row) =>
      row.key === 'services-output jump services'
        ? { ...row, columns: { ...row.columns, text: 'jump nowhere' } }
        : row,
    );
    const { problems } = await settled();
    expect(refused({ problems }).length).toBeGreaterThan(0);
    expect(refused({ problems }).every((message) => message.includes('services-output'))).toBe(
      true,
    );
    expect(runNft(nft, OURS)).toContain('@udn-pod-default-ips-v4 drop');
  });

  test('a cgroup that nft does not find harms its own rules alone: pods stay isolated', async () => {
    kubelet = { path: 'nowhere.slice/kubelet.service', id: 1 };
    units.want(nftZone);
    const messages = refused(await settled());
    expect(messages).toHaveLength(2);
    expect(messages.join()).toContain('nowhere.slice/kubelet.service');
    expect(runNft(nft, OURS)).toContain('@udn-pod-default-ips-v4 drop');
  });

  test.each([
    ['local', nftZone],
    ['shared', sharedNftZone],
  ])(
    "in %s gateway mode a process of the host gets to a service with a local internal policy by the service's own network: of a primary one never into the default network",
    async (_mode, zone) => {
      const ports = [{ protocol: 'UDP', port: 53 }];
      const spec = { ports, internalTrafficPolicy: 'Local' };
      const [ofDefault, ofBlue, plain] = ['10.96.0.61', '10.96.1.61', '10.96.0.62'] as const;
      units.want(
        withServices(
          zone,
          service('kube-system/dns', { ...spec, clusterIPs: [ofDefault] }),
          slice('kube-system/dns', ['10.244.0.7 on ovn-worker']),
          service('blue/dns', { ...spec, clusterIPs: [ofBlue] }),
          slice('blue/dns', ['103.103.0.3 on ovn-worker'], { network: 'blue_blue' }),
          service('kube-system/any', { ports, clusterIPs: [plain] }),
          slice('kube-system/any', ['10.244.0.7 on ovn-worker']),
        ),
      );
      expect(refused(await settled())).toEqual([]);
      for (const line of [
        'link add breth0 type veth peer name outside0',
        'link add ovn-k8s-mp0 type veth peer name ovn0',
        'address add 172.18.0.3/16 dev breth0',
        'address add 10.244.0.2/24 dev ovn-k8s-mp0',
        'link set breth0 up',
        'link set ovn-k8s-mp0 up',
        // As the features of the host have them (reference/node.md §2.3).
        'route add 10.96.0.0/16 dev breth0',
        'route add 10.96.0.0/16 dev ovn-k8s-mp0 table 7',
        'rule add priority 30 fwmark 0x1745ec lookup 7',
      ])
        namespace.ip(line);
      const ways = [ofDefault, ofBlue, plain].flatMap((address) =>
        ['breth0', 'ovn-k8s-mp0'].map((device) => ({ address, device })),
      );
      runNft(
        nft,
        '-f -',
        [
          'table inet ways {',
          'chain out { type filter hook postrouting priority 300;',
          ...ways.map(({ address, device }) => `oifname "${device}" ip daddr ${address} counter`),
          '}',
          '}',
          '',
        ].join('\n'),
      );
      const [command = '', ...enter] = namespace.inside;
      for (const address of [ofDefault, ofBlue, plain])
        execFileSync(command, [...enter, 'bash', '-c', `echo > /dev/udp/${address}/53`]);
      const counted = [...runNft(nft, 'list table inet ways').matchAll(/packets (\d+)/g)];
      expect(
        ways.flatMap(({ address, device }, index) =>
          counted[index]?.[1] === '0' ? [] : [`${address} by ${device}`],
        ),
      ).toEqual([`${ofDefault} by ovn-k8s-mp0`, `${ofBlue} by breth0`, `${plain} by breth0`]);
    },
  );

  test("a pod on the host's network reaches services of its network and of the default one, and those of no other", async () => {
    const uid = '0f6b2c1e-58a4-4c0f-9a39-1d2e3f405162';
    using cgroup = new TestCgroup(`pod${uid}`);
    driver[Symbol.dispose]();
    const [command = '', ...args] = nft.program;
    nft = new NftProgram({ program: [...cgroup.inside, command, ...args] });
    driver = new NftDriver({
      nft,
      cgroups: { find: (name) => (name === `pod${uid}` ? cgroup.found() : undefined) },
    });
    units = new HostUnits(driver);
    const blue = nftZone.networks.find(({ name }) => name === 'blue_blue') as ZoneNetwork;
    const red: ZoneNetwork = {
      ...blue,
      name: networkName('red_red'),
      id: 2,
      namespaces: ['red'],
      nads: ['red/red'],
      object: 'UserDefinedNetwork red/red',
    };
    const [own, others, ofDefault] = ['10.96.1.3', '10.96.2.3', '10.96.0.9'] as const;
    const added = withServices(
      nftZone,
      service('red/web', { clusterIPs: [others] }),
      slice('red/web', ['103.103.0.3 on ovn-worker'], { network: 'red_red' }),
    );
    const zone: Zone = {
      ...nftZone,
      namespaces: [...nftZone.namespaces, 'red'],
      networks: [...nftZone.networks, red],
      services: [...(nftZone.services ?? []), ...(added.services ?? [])],
      endpointSlices: [...(nftZone.endpointSlices ?? []), ...(added.endpointSlices ?? [])],
      hostNetworkPods: [{ namespace: 'blue', name: 'agent', uid }],
    };
    const from = '10.96.9.9';
    for (const address of [from, own, others, ofDefault])
      namespace.ip(`address add ${address}/32 dev lo`);
    const asPod = { inside: [...cgroup.processes, ...namespace.inside] };
    // Nobody listens: who gets there is refused.
    const ways = (who: Pick<NetworkNamespace, 'inside'>): string[] =>
      [own, others, ofDefault].map((address) => connect(who, from, address, 79));
    units.want({ ...zone, hostNetworkPods: [] });
    await settled();
    expect(ways(asPod)).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED']);
    units.want(zone);
    expect(refused(await settled())).toEqual([]);
    expect(ways(asPod)).toEqual(['ECONNREFUSED', 'no answer', 'ECONNREFUSED']);
    expect(ways(namespace)).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED']);
    units.want({ ...zone, hostNetworkPods: [] });
    await settled();
    expect(runNft(nft, OURS)).not.toContain('cgroupv2');
  });

  test("a pod on the host's network sends nothing by the host's end of another pod's interface, whatever leads there", async () => {
    using cgroup = new TestCgroup('kubepods');
    driver[Symbol.dispose]();
    const [command = '', ...args] = nft.program;
    nft = new NftProgram({ program: [...cgroup.inside, command, ...args] });
    driver = new NftDriver({
      nft,
      cgroups: { find: (name) => (name === PODS_CGROUP ? cgroup.found() : undefined) },
    });
    using pod = await NetworkNamespace.create();
    const links = new PodLinks({ host: namespace.path });
    const link = { device: 'eth0', hostDevice: 'c0ffee', mac: '0a:58:0a:80:00:01', mtu: 1400 };
    await links.create(
      [{ ...link, externalIds: {} } as unknown as CniInterface],
      'c0ffee',
      pod.path,
    );
    const [node, address] = ['172.18.0.3', '10.244.0.77'];
    pod.ip(`address add ${address}/24 dev eth0`);
    pod.ip('link set dev eth0 up');
    pod.ip('route add default dev eth0');
    namespace.ip(`address add ${node}/32 dev lo`);
    // As for a process that binds to the device.
    namespace.ip(`route add ${address}/32 dev ${link.hostDevice}`);
    const asPod = { inside: [...cgroup.processes, ...namespace.inside] };
    // Nobody listens: who gets there is refused.
    expect(connect(asPod, node, address, 79)).toBe('ECONNREFUSED');
    units.want(undefined);
    units = new HostUnits(driver);
    units.want(nftZone);
    expect(refused(await settled())).toEqual([]);
    expect(await settled()).toMatchObject({ applied: 0 });
    expect(connect(asPod, node, address, 79)).toBe('no answer');
    expect(connect(namespace, node, address, 79)).toBe('ECONNREFUSED');
  });

  test("what a pod sends to the host's end of its own interface the host forwards to nobody", async () => {
    using pod = await NetworkNamespace.create();
    using other = await NetworkNamespace.create();
    const links = new PodLinks({ host: namespace.path });
    const addresses = ['10.244.0.77', '10.244.0.78'] as const;
    for (const [index, one] of [pod, other].entries()) {
      const mac = `0a:58:0a:80:00:0${index + 1}`;
      const link = { device: 'eth0', hostDevice: `c0ffee${index}`, mac, mtu: 1400 };
      const wanted = { ...link, externalIds: {} } as unknown as CniInterface;
      await links.create([wanted], `c0ffee${index}`, one.path);
      one.ip(`address add ${addresses[index]}/32 dev eth0`);
      one.ip('link set dev eth0 up');
      one.ip('route add default via 169.254.1.1 dev eth0 onlink');
      namespace.ip(`route add ${addresses[index]}/32 dev ${link.hostDevice}`);
      // By which the pod asks for the address of the host's end.
      namespace.ip(`address add 169.254.1.1/32 dev ${link.hostDevice}`);
    }
    namespace.sysctls.write('net/ipv4/ip_forward', '1');
    const [own, others] = addresses;
    // Nobody listens: who gets there is refused.
    expect(connect(pod, own, others, 79)).toBe('ECONNREFUSED');
    units.want(nftZone);
    expect(refused(await settled())).toEqual([]);
    expect(connect(pod, own, others, 79)).toBe('no answer');
    namespace.ip('address add 172.18.0.3/32 dev lo');
    expect(connect(namespace, '172.18.0.3', others, 79)).toBe('ECONNREFUSED');
  });

  test('kubelet reaches pods, also when its cgroup was made again', async () => {
    using cgroup = new TestCgroup();
    driver[Symbol.dispose]();
    const [command = '', ...args] = nft.program;
    nft = new NftProgram({ program: [...cgroup.inside, command, ...args] });
    driver = new NftDriver({ nft, cgroups: { find: () => cgroup.found() } });
    new HostUnits(driver).want(nftZone);
    expect(refused(await settled())).toEqual([]);
    const rule = `socket cgroupv2 level 2 "${cgroup.path}" ip daddr @udn-pod-default-ips-v4 accept`;
    expect(runNft(nft, OURS)).toContain(rule);
    cgroup.makeAgain();
    expect(runNft(nft, OURS)).not.toContain(rule);
    // Two rules of kubelet's and five of pods', each removed and made.
    expect(await settled()).toMatchObject({ applied: 14 });
    expect(runNft(nft, OURS)).toContain(rule);
    expect(await settled()).toMatchObject({ applied: 0 });
  });
});
