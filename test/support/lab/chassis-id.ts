/** `system-id` of Open vSwitch on node n<i> of every lab, as lab/guest/lab.sh sets it. */
export const chassisId = (node: string): string =>
  `1ab00000-0000-4000-8000-${node.slice(1).padStart(12, '0')}`;
