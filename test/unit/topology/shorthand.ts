/** The abbreviations of topology.md: X2 and X3 for a network's marks, C1 and C2 for chassis ids. */

import { CHASSIS_1, CHASSIS_2 } from '../../support/zones.ts';

export const short = (text: string): string =>
  text
    .replaceAll(CHASSIS_1, 'C1')
    .replaceAll(CHASSIS_2, 'C2')
    .replaceAll(
      /k8s\.ovn\.org\/network=blue_blue k8s\.ovn\.org\/role=primary k8s\.ovn\.org\/topology=layer3/g,
      'X3',
    )
    .replaceAll(/k8s\.ovn\.org\/network=blue_blue k8s\.ovn\.org\/topology=layer3/g, 'X2')
    .replaceAll('k8s.ovn.org/', 'k/');
