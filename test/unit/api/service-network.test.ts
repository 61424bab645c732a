import { expect, test } from 'vitest';
import {
  askedServiceNetwork,
  serviceNetwork,
  type ServiceNetwork,
} from '../../../src/api/annotations/service-network.ts';

const NETWORKS: Readonly<Record<string, ServiceNetwork>> = {
  'blue/out': { name: 'blue_out', role: 'secondary', isOptedIn: true },
  'blue/plain': { name: 'blue_plain', role: 'secondary', isOptedIn: false },
  'blue/net': { name: 'blue_net', role: 'primary', isOptedIn: true },
  'red/out': { name: 'red_out', role: 'secondary', isOptedIn: true },
};
const named = (text: string, secondaryGateways = true) =>
  serviceNetwork(text, 'blue', { secondaryGateways, networkOf: (nad) => NETWORKS[nad] });

test.each(['out', 'blue/out', ' out '])(
  '%j names the network of a NAD of the namespace',
  (text) => {
    expect(named(text)).toEqual({ kind: 'value', value: 'blue_out' });
  },
);

test.each([
  ['', /"" is no name of a NetworkAttachmentDefinition; write one of the namespace/],
  ['/', /is no name/],
  ['blue/out/1', /is no name/],
  ['[{"name": "out"}]', /is no name/],
  ['out, plain', /is no name/],
  ['blue/out" || 1 == "1', /is no name/],
  ['__proto__', /is no name/],
  ['constructor', /"constructor" is no NetworkAttachmentDefinition that stands for a network/],
  [
    'red/out',
    /"red\/out" is of namespace red, .* name a NetworkAttachmentDefinition of namespace blue/,
  ],
  ['gone', /"gone" is no NetworkAttachmentDefinition that stands for a network here/],
  ['net', /"net" is of a primary network/],
  ['plain', /is of network blue_plain, which has no gateway, .* k8s\.ovn\.org\/secondary-gateway/],
])('%j tells field, value and remedy, and that the service has no endpoints', (text, why) => {
  const found = named(text);
  const error = found.kind === 'invalid' ? found.error : '';
  expect(error).toMatch(why);
  expect(error).toMatch(
    /^metadata\.annotations\[k8s\.v1\.cni\.cncf\.io\/service-network\]: .* or remove the annotation: until then the service has no endpoints on any network$/,
  );
});

test('where an administrator lets secondary networks have no gateways that is what is told', () => {
  expect(named('plain', false)).toMatchObject({
    error: expect.stringContaining('an administrator sets secondary-gateways to true') as unknown,
  });
});

test('a service without the annotation asks for nothing', () => {
  const service = (annotations?: Readonly<Record<string, string>>) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'blue', ...(annotations && { annotations }) },
  });
  expect(askedServiceNetwork(service())).toBeUndefined();
  expect(askedServiceNetwork(service({ 'k8s.v1.cni.cncf.io/service-network': 'out' }))).toBe('out');
});
