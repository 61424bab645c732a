/** Spans of `heddle cluster`, a process of its own, and what it says of a collector that does not take them. */
import { expect, test } from 'vitest';
import { command, Installation } from '../../support/run/heddle.ts';
import { OtlpReceiver } from '../../support/run/otlp-receiver.ts';
import { until } from '../../support/run/until.ts';

const NETWORK = `
apiVersion: v1
kind: Namespace
metadata: { name: blue, labels: { k8s.ovn.org/primary-user-defined-network: '' } }
---
apiVersion: v1
kind: Node
metadata: { name: n1 }
---
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: net, namespace: blue }
spec: { topology: Layer2, layer2: { role: Primary, subnets: [10.20.0.0/16] } }
`;

const podOf = (name: string, uid: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: blue, uid: ${uid} }
spec: { nodeName: n1 }
`;

test('the cluster manager sends what it allocates in the trace of the pod, counts spans, and tells once that some are lost, and once that they are taken', async () => {
  await using receiver = await OtlpReceiver.start();
  using installation = new Installation();
  installation.write('network.yaml', NETWORK);
  await using manager = command(
    'cluster',
    `--manifests=${installation.manifests}`,
    `--state=${installation.state}`,
    '--metrics-bind-address=127.0.0.1:0',
    `--traces-endpoint=${receiver.url}`,
  );
  const limits = { limit: 30_000, output: () => manager.log };
  await until('its start', () => manager.log.includes('"health"'), limits);
  const health = /"health":"(?<url>[^"]+)"/.exec(manager.log)?.groups?.['url'] ?? '';
  const counted = async (outcome: string): Promise<string | undefined> => {
    const text = await (await fetch(`${health}/metrics`)).text();
    return new RegExp(`heddle_trace_spans_total{outcome="${outcome}"} (\\d+)`).exec(text)?.[1];
  };
  const lines = (text: string): number => manager.log.split(text).length - 1;

  installation.write('web.yaml', podOf('web', '9b8f2f5e-6a0c-4d1f-9a55-0d4c6f7b8a91'));
  await until('the span', () => receiver.spans.length > 0, limits);
  expect(receiver.spans).toMatchObject([
    {
      name: 'allocate addresses',
      service: 'heddle-cluster',
      traceId: '9b8f2f5e6a0c4d1f9a550d4c6f7b8a91',
      attributes: {
        'k8s.pod.name': 'web',
        'heddle.allocated_by': 'cluster',
        'heddle.nads': ['blue/net'],
      },
    },
  ]);
  await until('the count', async () => (await counted('sent')) === '1', limits);

  receiver.behaviour = 'refuse';
  for (const [index, name] of ['lost', 'too'].entries()) {
    installation.write(`${name}.yaml`, podOf(name, name));
    await until('a loss', async () => (await counted('failed')) === String(index + 1), limits);
  }
  receiver.behaviour = 'take';
  installation.write('last.yaml', podOf('last', 'last'));
  await until('the last span', async () => (await counted('sent')) === '2', limits);
  expect(lines('spans are lost')).toBe(1);
  expect(lines('spans are taken again')).toBe(1);
  expect(manager.log).toContain('the collector answers with status 403');
  expect(await counted('dropped')).toBe('0');
});
