import { expect, test } from 'vitest';
import { pods } from '../../../../src/api/kinds.ts';
import { readStored } from '../../../../src/api/validation/stored-object.ts';
import { hostPortsPart, type HostPortRequests } from '../../../../src/model/read/host-ports.ts';

const CONTEXT = {
  nodeName: 'n1',
  settings: {} as Parameters<typeof hostPortsPart.read>[1]['settings'],
  round: 0,
  before: undefined,
};
function requests(
  ports: readonly object[],
  {
    spec = {},
    status = {},
    isOwn = true,
  }: { spec?: object; status?: object; isOwn?: boolean } = {},
): HostPortRequests | undefined {
  const reading = readStored(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'blue', name: 'web', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { nodeName: 'n1', containers: [{ name: 'a', ports }, { name: 'b' }], ...spec },
    status,
  });
  if (reading.kind === 'invalid') throw new Error(reading.error);
  return hostPortsPart.read(reading.value, { ...CONTEXT, isOwn });
}

test('a pod asks for the ports of the node that its containers name', () => {
  expect(
    requests([
      { containerPort: 80, hostPort: 8080 },
      { containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: 'FD00::1' },
      { containerPort: 81 },
      { containerPort: 82, hostPort: 0, hostIP: '' },
    ]),
  ).toEqual({
    namespace: 'blue',
    name: 'web',
    created: '2026-01-01T00:00:00Z',
    ports: [
      { protocol: 'TCP', hostPort: 8080, containerPort: 80 },
      { protocol: 'UDP', hostPort: 53, containerPort: 53, hostIp: 'fd00::1' },
    ],
  });
});

test('a pod without any, on the host, that has ended, or of another node asks for none', () => {
  const ports = [{ containerPort: 80, hostPort: 8080 }];
  expect(requests([{ containerPort: 80 }])).toBeUndefined();
  expect(requests(ports, { spec: { hostNetwork: true } })).toBeUndefined();
  expect(requests(ports, { status: { phase: 'Succeeded' } })).toBeUndefined();
  expect(requests(ports, { isOwn: false })).toBeUndefined();
});

test.each([{ hostPort: 70_000 }, { hostPort: 'web' }, { hostPort: 80, hostIP: 'localhost' }])(
  'what is no port or address is said: %j',
  (port) => {
    expect(() => requests([{ containerPort: 80, ...port }])).toThrow(/hostPort|hostIP/);
  },
);
