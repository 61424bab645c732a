/** Which daemons may answer for a command. */
import { expect, test } from 'vitest';
import { optionDifference } from '../../../src/cli/ask.ts';
import type { GivenOptions } from '../../../src/settings/configuration.ts';

const daemon: GivenOptions = {
  manifests: '/etc/heddle',
  state: '/var/lib/heddle',
  node: 'n1',
  nb: 'unix:/run/ovn/ovnnb_db.sock',
  mtu: '1300',
};

test.each<[string, GivenOptions]>([
  ['nothing', {}],
  ['the same', daemon],
  ['the same folder in another spelling', { manifests: '/etc/../etc/heddle/' }],
  ['what the daemon has by default', { 'acl-logging-rate-limit': '20', 'take-over': 'false' }],
  ['what decides about this process alone', { timeout: '5', 'log-level': 'debug', socket: '/x' }],
])('given %s, the daemon answers', (_, given) => {
  expect(optionDifference(given, daemon)).toBeUndefined();
});

test('given another way to the API server, the daemon answers, which has one too', () => {
  const { manifests: _manifests, state: _state, ...more } = daemon;
  const given = { kubeconfig: '/root/.kube/config' };
  expect(optionDifference(given, { ...more, kubeconfig: '/etc/heddle/node' })).toBeUndefined();
});

test.each<[GivenOptions, string]>([
  [{ manifests: '/tmp/new' }, '--manifests is "/tmp/new" here and "/etc/heddle" there'],
  [{ kubeconfig: '/root/config' }, '--kubeconfig is "/root/config" here and "" there'],
  [{ node: 'n2' }, '--node is "n2" here and "n1" there'],
  [{ nb: 'tcp:127.0.0.1:6641' }, '--nb is "tcp:127.0.0.1:6641" here and '],
  [{ mtu: '1400' }, '--mtu is "1400" here and "1300" there'],
  [{ render: 'everywhere' }, '--render is "everywhere" here and "used" there'],
  [{ 'take-over': 'true' }, '--take-over is "true" here and "false" there'],
])('given %o, it does not', (given, difference) => {
  expect(optionDifference(given, daemon)).toContain(difference);
});
