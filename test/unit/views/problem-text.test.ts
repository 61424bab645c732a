import { expect, test } from 'vitest';
import { problemText, withRemedy } from '../../../src/views/problem-text.ts';

const placeOf = (object: string): string | undefined =>
  object === 'Pod blue/web' ? 'blue.yaml:12' : undefined;

test('a problem begins with the place of its object, if a file declares it', () => {
  expect(problemText({ object: 'Pod blue/web', message: 'no address left' }, placeOf)).toBe(
    'blue.yaml:12: Pod blue/web: no address left',
  );
  expect(problemText({ object: 'Node n1', message: 'broken' }, placeOf)).toBe('Node n1: broken');
});

test.each([
  [
    'invalid subnet configuration: pod or join subnet overlaps with already configured internal subnets: user defined subnet "10.244.0.0/16" overlaps cluster subnet "10.244.0.0/16"',
    'change subnets',
  ],
  [
    'invalid subnet configuration: pod or join subnet overlaps with already configured internal subnets: user defined join subnet "100.88.0.0/16" overlaps transit switch subnet "100.88.0.0/16"',
    'change joinSubnets',
  ],
  ['foreign NetworkAttachmentDefinition with the desired name already exist [blue/net]', 'delete'],
])('%s: the remedy names the field', (message, remedy) => {
  expect(withRemedy(message)).toContain(`${message}; ${remedy}`);
});

test.each([
  'user defined subnet "172.18.0.0/16" overlaps the network 172.18.0.0/16 of node "n1": choose a range that no node has an address in',
  'user defined subnet "10.128.4.0/24" overlaps cluster subnet "10.128.0.0/14": choose a range of the underlay that the cluster does not use',
])('a message that says what to do stays as it is: %s', (message) => {
  expect(withRemedy(message)).toBe(message);
});
