def pendulum_of_numbers(angle, velocity, sin, cos):
    angle_new = [angle]
    velocity_2 = velocity                                           # f64[]
    angle_new_t = angle                                             # f64[]
    for t in range(250):
        # angle_new = angle + 0.01 * velocity                       model.py:4
        next_angle_new = angle_new_t + 0.01 * velocity_2            # f64[]
        angle_new.append(next_angle_new)
        # velocity = velocity - 0.01 * np.sin(angle)                model.py:5
        velocity_2 = velocity_2 - 0.01 * sin(angle_new_t)           # f64[]
        angle_new_t = next_angle_new
    # return angle * angle + velocity * velocity                    model.py:6
    total = next_angle_new * next_angle_new + velocity_2 * velocity_2  # f64[]
    g_velocity = 2 * velocity_2                                     # f64[]
    g_angle_new = 2 * next_angle_new                                # f64[]
    # angle_new = angle + 0.01 * velocity                           model.py:4
    g_angle_new_2 = g_angle_new - 0.02 * velocity_2 * cos(angle_new[249])  # f64[]
    g_velocity_2 = g_velocity + 0.01 * g_angle_new                  # f64[]
    for t in reversed(range(249)):
        # angle_new = angle + 0.01 * velocity                       model.py:4
        next_g_angle_new = g_angle_new_2 - 0.01 * g_velocity_2 * cos(angle_new[t])  # f64[]
        g_velocity_2 = g_velocity_2 + 0.01 * g_angle_new_2          # f64[]
        g_angle_new_2 = next_g_angle_new
    return total, next_g_angle_new, g_velocity_2


def pendulum(angle, velocity):
    return rt.in_floats(pendulum_of_numbers, ("sin", "cos"), angle, velocity)
