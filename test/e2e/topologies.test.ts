import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { attachedPods, SERVER_PORT } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { vlanUnderlay } from '../support/lab/vlan-underlay.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 500 };
const FIXTURES = join(import.meta.dirname, 'fixtures/topologies');
const CLUSTER_IP = '172.16.1.80';

const SERVICE = `apiVersion: v1
kind: Service
metadata: { name: web, namespace: blue }
spec:
  clusterIP: ${CLUSTER_IP}
  clusterIPs: [${CLUSTER_IP}]
  selector: { role: server }
  ports: [{ port: 80, targetPort: ${SERVER_PORT}, protocol: TCP }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  namespace: blue
  labels:
    kubernetes.io/service-name: web
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
addressType: IPv4
ports: [{ name: "", port: ${SERVER_PORT}, protocol: TCP }]
endpoints:
  - addresses: [10.128.0.200]
    nodeName: n1
    conditions: { ready: true }
    targetRef: { kind: Pod, namespace: blue, name: web-1 }
`;

const POLICY = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: clients-only, namespace: blue }
spec:
  podSelector: { matchLabels: { role: server } }
  policyTypes: [Ingress]
  ingress:
    - from: [{ podSelector: { matchLabels: { role: client } } }]
`;

const CONNECT = `apiVersion: k8s.ovn.org/v1
kind: ClusterNetworkConnect
metadata: { name: meeting }
spec:
  connectSubnets: [{ cidr: 192.168.0.0/16, networkPrefix: 24 }]
  connectivity: [PodNetwork, ServiceNetwork]
  networkSelectors:
    - networkSelectionType: ClusterUserDefinedNetworks
      clusterUserDefinedNetworkSelector: { networkSelector: { matchLabels: { meets: "yes" } } }
    - networkSelectionType: PrimaryUserDefinedNetworks
      primaryUserDefinedNetworkSelector: { namespaceSelector: { matchLabels: { meets: "yes" } } }
`;

describe.skipIf(whyNoLab !== undefined)(
  `networks of several topologies${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    const end = (pod: string): Endpoint => {
      const found = ends.find((one) => one.pod === pod);
      if (found === undefined) throw new Error(`${pod} has no interface`);
      return found;
    };
    /** Which server answers a pod at an address; null when none does. */
    const answer = async (from: string, to: string, port = SERVER_PORT): Promise<string | null> => {
      const [result] = await probe(lab.record, [{ from: end(from).namespace, to, port }], 3);
      return result?.answer?.server ?? null;
    };
    const reaches = async (from: string, to: string): Promise<boolean> =>
      (await answer(from, end(to).addresses[0] ?? '')) === to;
    const declare = (file: string, text: string): void =>
      writeFileSync(join(tenants.manifests, file), text);
    const withdraw = (file: string): void => rmSync(join(tenants.manifests, file));

    beforeAll(async () => {
      lab = await testLab('e2e-topologies');
      tenants = new Tenants(lab.record, { folder: FIXTURES });
      await tenants.start();
      ends = await tenants.endpoints();
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('pods of a Layer2 network reach each other over three nodes and two namespaces, and no other network with their subnet', async () => {
      expect(ends.map(({ pod, node }) => `${pod} ${node}`).sort()).toEqual([
        'blue/web-1 n1',
        'blue/web-2 n2',
        'blue/web-3 n3',
        'east/web-1 n1',
        'green/web-1 n1',
        'green/web-2 n2',
        'west/web-2 n2',
        'west/web-3 n3',
      ]);
      const networkOf = (from: string): string =>
        /^(east|west)\//.test(from) ? 'yellow' : (from.split('/')[0] ?? '');
      expect(await tenants.unexpectedBy((from, to) => networkOf(from) === networkOf(to))).toEqual(
        [],
      );
    });

    test('the gateway of a Layer2 network has one address and one MAC on every node', async () => {
      const macs = await Promise.all(
        ['east/web-1', 'west/web-2', 'west/web-3'].map(async (pod) => {
          await outputInside(lab.record, ['pod', pod, 'ping', '-c', '1', '-w', '10', '10.30.0.1']);
          const text = await outputInside(lab.record, [
            'pod',
            pod,
            'ip',
            'neigh',
            'show',
            '10.30.0.1',
          ]);
          return /lladdr (\S+)/.exec(text)?.[1];
        }),
      );
      expect(macs).toEqual(['0a:58:0a:1e:00:01', '0a:58:0a:1e:00:01', '0a:58:0a:1e:00:01']);
    });

    test('a cluster IP is reached inside its network, on every node, and from no other one', async () => {
      declare('service.yaml', SERVICE);
      for (const pod of ['blue/web-1', 'blue/web-2', 'blue/web-3'])
        await expect.poll(() => answer(pod, CLUSTER_IP, 80), SOON).toBe('blue/web-1');
      for (const pod of ['east/web-1', 'west/web-2', 'green/web-1'])
        expect(await answer(pod, CLUSTER_IP, 80), pod).toBeNull();
    });

    test('pods of a localnet network reach a host outside on their VLAN, and none on another one, from two nodes', async () => {
      await vlanUnderlay(lab.record, 'tenants', [
        { name: 'same-vlan', vlan: 50, address: '10.50.0.250/24' },
        { name: 'other-vlan', vlan: 60, address: '10.50.0.251/24' },
      ]);
      const [here = '', there = ''] = ['blue/web-1', 'blue/web-2'].map((pod) => {
        const own = attachedPods(lab.record).find(({ name }) => name === pod);
        const lan = own?.interfaces.find(({ nadKey }) => nadKey === 'blue/lan');
        return lan?.addresses[0]?.split('/')[0];
      });
      expect([here, there]).toEqual([
        expect.stringMatching(/^10\.50\.0\./),
        expect.stringMatching(/^10\.50\.0\./),
      ]);
      const echoes = async (from: string, to: string): Promise<boolean> => {
        const [result] = await probe(lab.record, [{ from, to }], 3);
        return typeof result?.ping === 'number';
      };
      for (const pod of ['blue/web-1', 'blue/web-2']) {
        const { namespace } = end(pod);
        await expect.poll(() => echoes(namespace, '10.50.0.250'), SOON).toBe(true);
        expect(await echoes(namespace, '10.50.0.251'), `${pod} to another VLAN`).toBe(false);
      }
      // The physical network is all that is between the nodes; from outside only the VLAN's host gets in.
      expect(await answer('blue/web-1', there)).toBe('blue/web-2');
      expect([await echoes('same-vlan', here), await echoes('other-vlan', here)]).toEqual([
        true,
        false,
      ]);
    });

    test('a network policy lets those in that it names; without it everybody of the network is', async () => {
      declare('policy.yaml', POLICY);
      await expect.poll(() => reaches('blue/web-3', 'blue/web-1'), SOON).toBe(false);
      expect(await reaches('blue/web-2', 'blue/web-1')).toBe(true);
      expect(await reaches('blue/web-3', 'blue/web-2')).toBe(true);
      // The service leads to the same pod.
      expect(await answer('blue/web-3', CLUSTER_IP, 80)).toBeNull();
      expect(await answer('blue/web-2', CLUSTER_IP, 80)).toBe('blue/web-1');
      withdraw('policy.yaml');
      await expect.poll(() => reaches('blue/web-3', 'blue/web-1'), SOON).toBe(true);
    });

    test('connected networks reach each other’s pods and services while they are connected, and green stays apart', async () => {
      expect(await reaches('blue/web-2', 'west/web-3')).toBe(false);
      declare('connect.yaml', CONNECT);
      const pairs = [
        ['blue/web-1', 'east/web-1'],
        ['blue/web-2', 'west/web-3'],
        ['west/web-3', 'blue/web-1'],
        ['west/web-2', 'blue/web-3'],
      ] as const;
      for (const [from, to] of pairs) await expect.poll(() => reaches(from, to), SOON).toBe(true);
      await expect.poll(() => answer('west/web-3', CLUSTER_IP, 80), SOON).toBe('blue/web-1');
      // An address of the subnet that green and yellow have is that of green's own pod for green.
      expect(await answer('green/web-1', end('blue/web-1').addresses[0] ?? '')).toBeNull();
      expect(await answer('green/web-2', CLUSTER_IP, 80)).toBeNull();
      withdraw('connect.yaml');
      for (const [from, to] of pairs) await expect.poll(() => reaches(from, to), SOON).toBe(false);
      expect(await tenants.mentions('connect_router')).toEqual([]);
    });
  },
);
