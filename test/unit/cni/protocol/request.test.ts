import { array, assert, constantFrom, json, oneof, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CniError } from '../../../../src/cni/protocol/cni-error.ts';
import {
  readRequest,
  VARIABLES,
  versionOf,
  type Variable,
} from '../../../../src/cni/protocol/request.ts';
import { CNI_VERSIONS, COMMANDS } from '../../../../src/cni/protocol/versions.ts';

const ID = '0123456789abcdef'.repeat(4);
const environment: Readonly<Record<Variable, string>> = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: ID,
  CNI_NETNS: '/var/run/netns/cni-1',
  CNI_IFNAME: 'eth0',
  CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=blue;K8S_POD_NAME=web-1;K8S_POD_UID=u1',
  CNI_PATH: '/opt/cni/bin',
};
const config = { cniVersion: '1.1.0', name: 'ovn-kubernetes', type: 'heddle-cni' };
const previous = { ips: [{ address: '10.0.0.5/24' }] };

const request = (changes: Partial<Record<Variable, string>>, input: unknown): string => {
  const all = { ...environment, ...changes };
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  return VARIABLES.map((name) => `${all[name]}\0`).join('') + text;
};

function refusal(text: string): string {
  try {
    readRequest(text);
  } catch (error) {
    if (error instanceof CniError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'none';
}

test('an ADD names container, interface, namespace and pod', () => {
  expect(readRequest(request({}, config))).toEqual({
    command: 'ADD',
    version: '1.1.0',
    network: 'ovn-kubernetes',
    isSecondary: false,
    nad: undefined,
    container: ID,
    device: 'eth0',
    netns: '/var/run/netns/cni-1',
    pod: { namespace: 'blue', name: 'web-1', uid: 'u1' },
  });
});

test('a configuration with a topology is that of a NAD', () => {
  const nad = { ...config, topology: 'layer2', netAttachDefName: 'blue/extra' };
  expect(readRequest(request({}, nad))).toMatchObject({ isSecondary: true, nad: 'blue/extra' });
});

test.each([
  ['a subnet', { type: 'ovn-k8s-cni-overlay', subnet: '10.10.10.0/24', ipam: { type: 'static' } }],
  ['the old type', { type: 'ovn-kubernetes', subnet: '10.10.20.0/24' }],
])(
  'so is one in the older form (reference/api.md §2), with %s, though it does not say which',
  (_what, old) => {
    const call = { ...config, ...old, name: 'tenantA-overlay', capabilities: { ips: true } };
    const found = { isSecondary: true, nad: undefined, network: 'tenantA-overlay' };
    expect(readRequest(request({ CNI_IFNAME: 'net1' }, call))).toMatchObject(found);
    const del = request({ CNI_COMMAND: 'DEL', CNI_NETNS: '', CNI_IFNAME: 'net1' }, call);
    expect(readRequest(del)).toMatchObject({ ...found, device: 'net1' });
  },
);

test('DEL needs no network namespace and no pod', () => {
  const found = readRequest(
    request(
      { CNI_COMMAND: 'DEL', CNI_NETNS: '', CNI_ARGS: '' },
      { ...config, prevResult: previous },
    ),
  );
  expect(found).toEqual({
    command: 'DEL',
    version: '1.1.0',
    network: 'ovn-kubernetes',
    isSecondary: false,
    nad: undefined,
    container: ID,
    device: 'eth0',
  });
});

test('CHECK reads the addresses of the result before it, GC what the runtime knows', () => {
  const check = { ...config, prevResult: previous };
  expect(readRequest(request({ CNI_COMMAND: 'CHECK' }, check))).toMatchObject({
    addresses: ['10.0.0.5/24'],
  });
  const known = [{ containerID: 'a', ifname: 'eth0' }, { containerID: 'b' }];
  const gc = { ...config, 'cni.dev/valid-attachments': known };
  expect(readRequest(request({ CNI_COMMAND: 'GC', CNI_CONTAINERID: '' }, gc))).toMatchObject({
    containers: new Set(['a', 'b']),
  });
});

test('VERSION is answered whatever the version of the configuration', () => {
  expect(
    readRequest(request({ CNI_COMMAND: 'VERSION', CNI_CONTAINERID: '' }, { cniVersion: '9.9.9' })),
  ).toEqual({ command: 'VERSION', version: '9.9.9' });
});

describe('a request is refused with the number of the specification, and the name of what is wrong:', () => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  test.each<[string, Partial<Record<Variable, string>>, unknown, RegExp]>([
    ['no command', { CNI_COMMAND: '' }, config, /^4 CNI_COMMAND "": must be one of ADD, DEL/],
    ['another command', { CNI_COMMAND: 'UPDATE' }, config, /^4 CNI_COMMAND "UPDATE"/],
    ['no container', { CNI_CONTAINERID: '' }, config, /^4 CNI_CONTAINERID is not set/],
    ['a path as container', { CNI_CONTAINERID: '../x' }, config, /^4 CNI_CONTAINERID/],
    ['two words as container', { CNI_CONTAINERID: 'a b' }, config, /^4 CNI_CONTAINERID/],
    ['a long container', { CNI_CONTAINERID: 'a'.repeat(129) }, config, /^4 .* 128 characters/],
    ['no interface', { CNI_IFNAME: '' }, config, /^4 CNI_IFNAME is not set/],
    ['a long interface', { CNI_IFNAME: 'e'.repeat(16) }, config, /^4 CNI_IFNAME/],
    ['a folder as interface', { CNI_IFNAME: '..' }, config, /^4 CNI_IFNAME/],
    ['an option as interface', { CNI_IFNAME: '-force' }, config, /^4 CNI_IFNAME/],
    ['a command as interface', { CNI_IFNAME: 'a\nlink' }, config, /^4 CNI_IFNAME/],
    ['no namespace', { CNI_NETNS: '' }, config, /^4 CNI_NETNS is not set/],
    ['a name as namespace', { CNI_NETNS: 'blue' }, config, /^4 CNI_NETNS/],
    ['words as namespace', { CNI_NETNS: '/a b' }, config, /^4 CNI_NETNS/],
    ['no pod', { CNI_ARGS: '' }, config, /^4 CNI_ARGS has no K8S_POD_NAMESPACE/],
    ['no name of a pod', { CNI_ARGS: 'K8S_POD_NAMESPACE=a' }, config, /^4 .* no K8S_POD_NAME/],
    ['no assignment', { CNI_ARGS: 'K8S_POD_NAMESPACE' }, config, /^4 .* KEY=VALUE/],
    ['two signs', { CNI_ARGS: 'K8S_POD_NAMESPACE=a=b' }, config, /^4 .* KEY=VALUE/],
    ['a pattern as name', { CNI_ARGS: 'K8S_POD_NAMESPACE=*' }, config, /^4 .* no name/],
    ['no JSON', {}, '{', /^6 .* is not JSON/],
    ['nothing', {}, '', /^6 .* is not JSON/],
    ['a list', {}, '[]', /^6 .* is not an object/],
    ['1 MB of lists', {}, nested(500_000), /^(1|6) /],
    ['no version', {}, { ...config, cniVersion: undefined }, /^1 incompatible CNI versions/],
    ['an old version', {}, { ...config, cniVersion: '0.2.0' }, /^1 incompatible CNI versions/],
    ['a newer version', {}, { ...config, cniVersion: '2.0.0' }, /^1 incompatible CNI versions/],
    ['a number as version', {}, { ...config, cniVersion: 1 }, /^1 incompatible CNI versions/],
    ['no name', {}, { ...config, name: undefined }, /^7 .* name /],
    ['a path as name', {}, { ...config, name: '../a' }, /^7 .* name /],
    ['a list of plugins', {}, { ...config, plugins: [] }, /^7 .* plugins /],
    ['a chain', {}, { ...config, prevResult: previous }, /^7 .* prevResult is set/],
    ['IPAM', {}, { ...config, ipam: { type: 'host-local' } }, /^2 .*ipam .*host-local/],
    ['a topology without NAD', {}, { ...config, topology: 'layer2' }, /^7 .* netAttachDefName/],
    ['another NAD', {}, { ...config, topology: 'layer2', netAttachDefName: 'a' }, /^7 .*"a"/],
    ['CHECK before 0.4.0', { CNI_COMMAND: 'CHECK' }, { ...config, cniVersion: '0.3.1' }, /^1 /],
    ['CHECK without result', { CNI_COMMAND: 'CHECK' }, config, /^7 .* prevResult/],
    ['STATUS before 1.1.0', { CNI_COMMAND: 'STATUS' }, { ...config, cniVersion: '1.0.0' }, /^1 /],
    ['GC before 1.1.0', { CNI_COMMAND: 'GC' }, { ...config, cniVersion: '1.0.0' }, /^1 /],
    [
      'GC of nobody knows which',
      { CNI_COMMAND: 'GC' },
      { ...config, subnet: '10.0.0.0/24' },
      /^7 .*netAttachDefName/,
    ],
    ['GC of everything', { CNI_COMMAND: 'GC' }, config, /^7 .*valid-attachments" must be a list/],
    [
      'GC with holes',
      { CNI_COMMAND: 'GC' },
      { ...config, 'cni.dev/valid-attachments': [null] },
      /^7 .*\[0\]\.containerID/,
    ],
  ])('%s', (_, changes, input, expected) => {
    expect(refusal(request(changes, input))).toMatch(expected);
  });

  test('too few variables', () => {
    expect(refusal('ADD\0')).toMatch(/^6 the request has 1 variables, not 6/);
  });
});

test('1 MB of fields that nobody knows is no mistake', () => {
  expect(refusal(request({}, { ...config, more: 'x'.repeat(1 << 20) }))).toBe('none');
});

test('whatever comes is read, or refused with a CNI error', () => {
  const value = oneof(string(), json(), constantFrom(...COMMANDS, ...CNI_VERSIONS));
  assert(
    property(array(value, { maxLength: 8 }), (values) => {
      refusal(values.join('\0'));
    }),
  );
});

test('an error is answered in the version of the configuration, else in the newest', () => {
  expect(
    [{ cniVersion: '0.4.0' }, { cniVersion: 'x' }, []].map((c) => versionOf(JSON.stringify(c))),
  ).toEqual(['0.4.0', '1.1.0', '1.1.0']);
  expect(versionOf('{')).toBe('1.1.0');
});
