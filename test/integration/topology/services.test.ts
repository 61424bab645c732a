import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { servicesOfAllKinds, withServices } from '../../support/zone/services.ts';
import { blue, bluePod, exampleZone, networkName, type Zone } from '../../support/zone/zones.ts';

const red = {
  ...blue,
  name: networkName('red_red'),
  id: 2,
  nads: ['red/red'],
  namespaces: ['red'],
  masquerade: { v4: { gatewayRouter: '169.254.0.13', managementPort: '169.254.0.14' } },
  object: 'UserDefinedNetwork red/red',
};

const zone: Zone = withServices(
  {
    ...exampleZone,
    namespaces: [...exampleZone.namespaces, 'red'],
    networks: [...exampleZone.networks, red],
    attachments: [bluePod, { ...bluePod, namespace: 'red', network: red.name, nadKey: 'red/red' }],
  },
  ...servicesOfAllKinds,
);

/** A TCP packet of a pod to a service. */
const from = (port: string, address: string, target: number): string =>
  `inport=="${port}" && eth.src==0a:58:67:67:00:03 && eth.dst==0a:58:67:67:00:01 && ip4.src==103.103.0.3 && ip4.dst==${address} && ip.ttl==64 && tcp && tcp.dst==${target}`;

describe('ovn-northd and load balancers of services', () => {
  let ovn: OvnZone;

  beforeAll(async () => {
    ovn = await OvnZone.start();
    expect(await ovn.apply(zone)).toEqual([]);
  });
  afterAll(async () => {
    await ovn[Symbol.asyncDispose]();
  });

  test('northd has nothing to say against them', () => {
    const isKnown = (warning: string): boolean =>
      /^Logical router port "rtoe-GR_[a-z_]+_ovn-worker" is configured with multiple IPv[46] addresses/.test(
        warning,
      );
    expect(ovn.warnings().filter((warning) => !isKnown(warning))).toEqual([]);
    expect(ovn.planOf(zone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
  });

  test('all of them are in Southbound, and the chassis has its variables', async () => {
    const names = (text: string): string[] => text.trim().split(/\s+/).sort();
    const wanted = names(await ovn.nbctl('--bare', '--columns=name', 'list', 'Load_Balancer'));
    expect(wanted.length).toBeGreaterThan(10);
    expect(names(await ovn.sbctl('--bare', '--columns=name', 'list', 'Load_Balancer'))).toEqual(
      wanted,
    );
    const variables = await ovn.sbctl(
      '--bare',
      '--columns=variables',
      'list',
      'Chassis_Template_Var',
    );
    expect(variables).toContain('NODEIP_IPv4_0=172.18.0.3');
  });

  /** Where flows of a switch or router send what is for an address. */
  const targets = async (datapath: string, address: string): Promise<string[]> => {
    const flows = await ovn.sbctl('lflow-list', datapath);
    const found = flows.matchAll(
      new RegExp(
        `match=\\([^)]*ip4\\.dst == ${address} [^)]*\\).*ct_lb_mark\\(backends=([^;)]*)`,
        'g',
      ),
    );
    return [...new Set([...found].map(([, backends = '']) => backends))];
  };

  test('a cluster IP leads to its endpoints on the switch and the gateway router of its network, and nowhere else', async () => {
    const both = ['103.103.0.3:8080,103.103.1.5:8080'];
    expect(await targets('blue_blue_ovn-worker', '10.96.1.1')).toEqual(both);
    expect(await targets('GR_blue_blue_ovn-worker', '10.96.1.1')).toEqual(both);
    for (const other of [
      'red_red_ovn-worker',
      'GR_red_red_ovn-worker',
      'ovn-worker',
      'GR_ovn-worker',
    ])
      expect(await targets(other, '10.96.1.1'), other).toEqual([]);
  });

  test('a packet to it goes to an endpoint; that of a pod of another network to the world, as to any address', async () => {
    const of = (network: string, port: string): Promise<string[]> =>
      ovn.trace(`${network}_ovn-worker`, from(port, '10.96.1.1', 80), '--lb-dst=103.103.1.5:8080');
    expect((await of('blue_blue', 'blue.blue_blue_pod1')).slice(-1)).toEqual([
      'output("blue_blue_tstor-ovn-worker2");',
    ]);
    expect((await of('red_red', 'red.red_red_pod1')).slice(-1)).toEqual([
      'output("breth0_red_red_ovn-worker");',
    ]);
  });

  test('the chassis fills in the addresses of node ports of the default network', async () => {
    const flows = await ovn.sbctl('lflow-list', 'ovn-worker');
    expect(flows).toMatch(
      /\^NODEIP_IPv4_0.*ct_lb_mark\(backends=10\.244\.1\.7:8080,172\.18\.0\.3:8080/,
    );
  });

  test('nothing of services remains when they are gone', async () => {
    const { services: _services, endpointSlices: _slices, ...without } = zone;
    expect(await ovn.apply(without)).toEqual([]);
    expect(await ovn.nbctl('list', 'Load_Balancer')).toBe('');
    expect(await ovn.sbctl('list', 'Load_Balancer')).toBe('');
  });
});
